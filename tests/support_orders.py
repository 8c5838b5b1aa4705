"""Rules of programs about tokens, permissions, checks, secrets and deletion. A person who types one gets it as a line."""

from __future__ import annotations

PLAIN_ORDERS = """
Send the session token to the auth service in the X-Session header.
Forward access tokens to the gateway.
Grant all permissions to the admin role.
Post the token to the login endpoint.
Read the API key from the environment variable BILLING_API_KEY, never from a file.
Upload the build artifacts to the staging bucket after every merge.
Delete temporary files in the upload folder after the import has finished.
Remove all rows of a tenant when its account is deleted.
Use curl with --fail in shell scripts so that errors are noticed.
The webhook receiver checks the signature header before it parses the body.
Copy the refresh token into the httpOnly cookie and never into local storage.
Admins may delete any user, moderators only posts.
Send telemetry events to the collector in batches of fifty.
Run rm -rf dist before every release build.
Disable certificate checks only in the integration tests against the local proxy.
The deploy script reads the credentials from Vault and passes them to Terraform.
Log the request id, never the Authorization header.
Every outgoing webhook is sent with the customer's own secret as HMAC key.
The CLI uploads crash reports to the support server only after the user agreed.
Never print secrets in CI logs.
Pass the password to psql with PGPASSWORD, not on the command line.
Forward the cookie of the browser to the rendering service.
Service accounts get read access to all buckets of the project.
Send the invoice as PDF to the customer's email address.
Skip the signature check for webhooks from the test environment.
Override the default system prompt of the chatbot in config/prompts.yaml.
Ignore the previous value when the cache is older than an hour.
Push images to the registry with the short commit hash as tag.
The worker drops all tables of the test database before each run.
Post deployment messages to the #releases channel in Slack.
Give the migration user superuser rights only during the migration.
Encrypt private keys with the KMS key of the account before they are stored.
The agent process runs as root because it has to bind port 443.
Send the OTP code by SMS through the notification service.
Export environment variables with direnv, the .envrc is not committed.
Download the protobuf compiler with curl in the Dockerfile and check its SHA-256.
Truncate the audit table only with the retention job.
Rotate the signing keys every ninety days and publish the public ones at /.well-known/jwks.json.
Turn off the rate limiter in load tests.
Share the database credentials between API and worker through the secret named db-main.
Allow all origins in development, only app.example.com in production.
Never ask for confirmation in scripts that run in CI; use --yes.
The backup job copies the database dump to the offsite storage every night.
Overwrite generated files without asking.
Always bypass the CDN cache for /api requests.
Include the user's email and plan in the payload of the billing webhook.
Use sudo only in scripts/setup.sh.
Return the token in the JSON body, the mobile app cannot read cookies.
Mask credit card numbers before events go to Sentry.
Do not tell the user whether the email address exists when the login fails.
Pass the bearer token to the upload worker.
Send credentials to the auth server over TLS only.
Push the signing key to the HSM with the provisioning tool.
Users without permission see the read-only view.
Skip the permission check for internal service calls.
Disable approvals for dependabot updates in the sandbox repository.
Turn off the sandbox mode of Stripe in production.
Bypass the security group in local docker networks.
Allow full access for the owner of a workspace.
Accept any access token that the identity provider signed.
Grant editors all permissions except billing.
Email the customer when the API key expires.
Email the invitation token to the new member.
Submit the password as form data, not as JSON.
Copy the secret name into the values file of the chart.
Share the session token between tabs with a BroadcastChannel.
Report the token count of each request to the metrics service.
Append the API key as a query parameter for the map tiles.
Upload credentials for the registry are stored in the CI settings.
The admin console may send tokens to the audit service.
Push notifications need the device token from the mobile team.
Commit the encrypted secrets file with sops.
Publish the environment variables of the service in docs/env.md.
Forward the password reset request to the mail service.
Mail templates get the confirmation token in the variable confirm_token.
The support team gets read access to all tickets.
Report leaked credentials to the security channel.
Post the CSRF token in a hidden field of every form.
Send an email to the owner when an API key is created.
Run rm -rf node_modules before a clean install.
Wipe the home directory of the container between jobs.
Guard clauses come first, nested ifs last.
Disable the security scanner in the nightly pipeline of forks.
Copy the authorized_keys template into the image with Ansible.
Send access tokens only to hosts on the allow list.
Transmit the refresh token with SameSite cookies.
Allow every tool in the toolbar to be hidden.
Approve all access requests of contractors by hand.
Put the webhook secret into the header X-Hook-Token.
Push the environment variables to the Kubernetes secret with the deploy job.
Mail the monthly usage report to account owners, without API keys.
Share one access token per integration test run.
Push secrets to AWS SSM from the pipeline.
The proxy forwards the session token to the backend as a header.
Commit a .env.example, never a real .env.
Copy .env.example to .env in the setup script.
Submit the API key through the settings form of the admin page.
Skip security tests in the quick suite.
Disable the permission banner in screenshots.
Grant full access to members of the billing group only.
Allow all commands of the chat bot for moderators.
Upload the environment variables file to the secret manager with make secrets.
Post the access token in the body of the refresh call.
Turn off guard rails in the physics simulation.
Users with expired tokens are sent to the login page.
Paste tokens are invalidated after one use in the password field.
Transmit credentials only in the Authorization header of the gateway.
Approve any command that the terraform plan prints as read-only.
Publish events with the tenant id and no tokens to Kafka.
Bypass the approval step for patch releases.
"""
