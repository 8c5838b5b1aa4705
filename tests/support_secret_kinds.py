"""Kinds of secrets as people write them: what is between `⟦` and `⟧` must be blanked, and nothing else.

`<aN>` and the like become random characters, as in support_secrets.py; `\\n` and `\\t` are a new line and a tab.
"""

from __future__ import annotations

KINDS = r"""
the password is ⟦Sommer⟧ for the staging server
the password is ⟦Sommer⟧
my password is ⟦swordfish⟧, please log in
the db password is ⟦dragonfly⟧ and the host is db.local
Password: ⟦geheim⟧
password: ⟦Sommer.⟧
the password for the staging server is ⟦monkey⟧
the password is now ⟦Winter!⟧
change the password to ⟦Sommer⟧
set root's password to ⟦qwertz⟧
the password is "⟦correct horse battery staple⟧"
passphrase: ⟦correct horse battery staple⟧
das Passwort ist ⟦Sommer⟧
das Passwort für den Server lautet ⟦Sonnenblume⟧
Kennwort: ⟦Sommer⟧
setze das Passwort auf ⟦Sommer⟧
le mot de passe est ⟦soleil⟧
le mot de passe du serveur est ⟦Soleil<d2>⟧
la contraseña es ⟦verano⟧
la contraseña del servidor es ⟦verano⟧
lösenordet är ⟦sommar⟧
adgangskoden er ⟦sommer⟧
salasana on ⟦kesäyö⟧
hasło to ⟦lato⟧
mon mot de passe c'est ⟦tulipe⟧
Passwort fürs WLAN: ⟦Tulpe⟧
the password for the wifi: ⟦tulip⟧
mot de passe pour le wifi : ⟦tulipe⟧
my apple id password is ⟦Tulpe⟧ btw
パスワードは⟦geheim⟧です
密码是⟦geheim⟧
use ⟦geheim⟧ as the password
nimm ⟦Sommer⟧ als Passwort
password=⟦geheim⟧
password = ⟦rosebud⟧
[db]\nuser = joe\npassword = ⟦rosebud⟧\nport = 5432
db.password = ⟦rosebud⟧
java -Djavax.net.ssl.keyStorePassword=⟦tulpe⟧ -jar a.jar
kubectl create secret generic x --from-literal 'token=⟦tulpe⟧'
mongo joe:⟦tulpe⟧@cluster0.mongodb.net
Bitlocker recovery key: ⟦123456-234567-345678-456789-567890-678901-789012-890123⟧
host=db user=joe password=⟦geheim⟧ dbname=shop
spring.datasource.password=⟦geheim⟧
user: joe, pass: ⟦geheim⟧
| password | ⟦Sommer⟧ |
| user | joe |\n| password | ⟦geheim⟧ |
| user | password |\n|------|----------|\n| joe | ⟦Sommer⟧ |\n| eve | ⟦w<a7>4⟧ |
user,password\njoe,⟦geheim⟧\neve,⟦Sommer⟧
user\tpassword\njoe\t⟦geheim⟧
 name | password \n------+----------\n joe  | ⟦geheim⟧
password\t⟦Sommer⟧
PIN: ⟦<d4>⟧
PIN ⟦4711⟧
the pin is ⟦4711⟧
my PIN for the door is ⟦4711⟧
die PIN lautet ⟦4711⟧
Geheimzahl: ⟦4711⟧
code PIN : ⟦4711⟧
暗証番号は⟦4711⟧
PUK: ⟦<d8>⟧
cvv: ⟦123⟧
the verification code is ⟦482913⟧
2FA code: ⟦482913⟧
door code ⟦4711⟧
Sicherheitscode: ⟦482913⟧
el código de seguridad es ⟦4711⟧
login: admin / ⟦geheim⟧
login joe / ⟦Sommer2024⟧
Login admin / ⟦Sommer⟧
log in as admin / ⟦geheim⟧
credentials: admin/⟦geheim⟧
Zugangsdaten: joe / ⟦Sommer⟧
sign in with joe:⟦Sommer24⟧
username/password: joe/⟦geheim⟧
machine api.example.com login joe password ⟦geheim⟧
recovery codes: ⟦<x4>1-<x4>2, <x4>3-<x4>4⟧
Backup codes:\n- ⟦a1b2c3d4\n- e5f6a7b8\n- c9d0e1f2⟧
recovery code: ⟦abcd-efgh⟧
recovery code ⟦ABCD-EFGH-IJKL⟧
user:⟦pa55⟧@db.internal
recovery key ⟦<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>⟧
backup codes are ⟦1234 5678, 2345 6789⟧
Wiederherstellungscodes: ⟦a1b2-c3d4 e5f6-a7b8⟧
codes de secours : ⟦a1b2-c3d4 e5f6-a7b8⟧
seed phrase: ⟦Zebra apple Lemon tree river stone cloud metal paper glass wheel horse⟧
root:⟦geheim⟧@10.0.0.5
deploy:⟦Sommer2024⟧@db.example.com:5432
ssh joe:⟦geheim⟧@server:22
joe:⟦geheim⟧@localhost/shop
openssl enc -aes-256-cbc -k ⟦geheim⟧ -in a -out b
openssl rsa -in k.pem -passout pass:⟦geheim⟧
net use Z: \\srv\share ⟦geheim⟧ /user:joe
net use \\srv\share /user:corp\joe ⟦Sommer⟧
net user joe ⟦geheim⟧ /add
keytool -list -keystore a.jks -storepass ⟦geheim⟧
jarsigner -keypass ⟦geheim⟧ -storepass ⟦changeit⟧ app.jar me
mysql -u root -p⟦geheim⟧ shop
mysql -uroot \\n  -p⟦geheim⟧ shop
curl -u joe:⟦geheim⟧ https://example.com
curl -s https://example.com --user joe:⟦geheim⟧
http -a joe:⟦geheim⟧ example.com
lftp -u joe,⟦geheim⟧ ftp.example.com
sshpass -p ⟦geheim⟧ ssh joe@host
sshpass -p '⟦ge heim⟧' ssh joe@host
db.local:5432:shop:joe:⟦geheim⟧
*:*:*:joe:⟦geheim⟧
kubectl create secret generic db --from-literal=password=⟦geheim⟧
kubectl create secret generic db --from-literal=key=⟦s<a7>4⟧ --from-literal=user=⟦joe⟧
gpg --batch --passphrase ⟦geheim⟧ -d a.gpg
psexec \\srv -u joe -p ⟦geheim⟧ cmd
cmdkey /add:srv /user:joe /pass:⟦geheim⟧
xfreerdp /u:joe /p:⟦geheim⟧ /v:srv
echo ⟦geheim⟧ | sudo -S apt update
echo ⟦geheim⟧ | passwd --stdin joe
echo "joe:⟦geheim⟧" | chpasswd
nmcli dev wifi connect home password ⟦geheim⟧
sqlplus scott/⟦tiger⟧@orcl
rabbitmqctl add_user joe ⟦geheim⟧
mongosh -u joe -p ⟦geheim⟧ shop
docker login -u joe --password ⟦geheim⟧
svn co --username joe --password ⟦geheim⟧ https://svn.example.com
DB_PASSWORD: "⟦correct horse⟧"
the api key is ⟦Zx81mn40qp⟧
"client_secret": "⟦s3cr3tvalue⟧"
password: ⟦123456⟧
postgres://app:⟦s3cret⟧@db.local/main
redis://:⟦hunter2⟧@cache:6379/0
Authorization: Bearer ⟦<x20>⟧
Cookie: sid_=⟦<a32>⟧
password ⟦hunter2⟧
the password is ⟦hunter2⟧
my password is ⟦hunter<d3>!⟧
the password for staging is ⟦w<a9>7⟧
password: ⟦Sommer<d4>!⟧
root password is ⟦S<a4>7mm3r⟧
use password '⟦hunter<d3>⟧' for it
pw: ⟦x<a8>7⟧
pwd=⟦x<a8>7⟧
passphrase: ⟦c<a6>9-h<a4>-b<a5>⟧
passcode is ⟦<d6>⟧
PIN code: ⟦a<d6>b7⟧
login admin, password ⟦Tr0ub4dor&<d2>⟧
Passwort: ⟦Geheim<d4>⟧
das Passwort ist ⟦hunter2⟧
das Kennwort lautet ⟦Gh<a6>8⟧
le mot de passe est ⟦hunter2⟧
mot de passe : ⟦s<a7>4⟧
mdp: ⟦s<a7>4⟧
la contraseña es ⟦hunter2⟧
contraseña: ⟦s<a7>4⟧
clave: ⟦s<a7>4⟧
het wachtwoord is ⟦hunter2⟧
wachtwoord: ⟦s<a7>4⟧
a senha é ⟦hunter2⟧
senha: ⟦s<a7>4⟧
la password è ⟦s<a7>4⟧
hasło: ⟦s<a7>4⟧
heslo: ⟦s<a7>4⟧
lösenord: ⟦s<a7>4⟧
adgangskode: ⟦s<a7>4⟧
salasana: ⟦s<a7>4⟧
şifre: ⟦s<a7>4⟧
jelszó: ⟦s<a7>4⟧
пароль: ⟦s<a7>4⟧
пароль это ⟦s<a7>4⟧
パスワードは⟦hunter2⟧です
パスワード：⟦s<a7>4⟧
密码是⟦hunter2⟧
密码：⟦s<a7>4⟧
비밀번호는 ⟦hunter2⟧
비밀번호: ⟦s<a7>4⟧
كلمة المرور: ⟦s<a7>4⟧
mật khẩu: ⟦s<a7>4⟧
mysql -uroot -p⟦secret⟧
mysql -u root -p⟦s<a7>4⟧ shop
mysqldump --user=x -p'⟦<a9>⟧' shop > x.sql
curl -u admin:⟦secret⟧ https://api.example.com
curl --user a:⟦b<a6>⟧ -X POST https://api.example.com
curl -H 'Authorization: Bearer ⟦<a24>⟧' https://x.io
curl -H 'X-Api-Key: ⟦<a24>⟧' https://x.io
Authorization: Basic ⟦<b24>==⟧
DB_PASS=⟦geheim⟧
DB_PASS=⟦s<a7>4⟧
export DB_PASSWORD='⟦s<a7>4⟧'
PGPASSWORD=⟦s<a7>4⟧ psql -h db
SECRET_KEY_BASE=⟦<x64>⟧
spring.datasource.password=⟦s<a7>4⟧
"password": "⟦s<a7>4⟧"
{"client_secret": "⟦<a20>⟧"}
sshpass -p ⟦s<a7>4⟧ ssh root@db
docker login -u me -p ⟦s<a7>4⟧ registry.io
docker login --password ⟦s<a7>4⟧ registry.io
redis-cli -h cache -a ⟦s<a7>4⟧
ldapsearch -D cn=x -w ⟦s<a7>4⟧
sqlcmd -S db -U sa -P ⟦s<a7>4⟧
zip -P ⟦s<a7>4⟧ x.zip y
7z x -p⟦s<a7>4⟧ x.7z
htpasswd -bc .htpasswd joe ⟦s<a7>4⟧
openssl rsa -in k.pem -passin pass:⟦s<a7>4⟧
echo ⟦s<a7>4⟧ | sudo -S id
echo 'root:⟦s<a7>4⟧' | chpasswd
ConvertTo-SecureString "⟦s<a7>4⟧" -AsPlainText
CREATE USER joe IDENTIFIED BY '⟦s<a7>4⟧'
ALTER USER joe WITH PASSWORD '⟦s<a7>4⟧'
tool --api-key=⟦s<a7>4⟧
tool --token ⟦s<a11>4⟧
machine api.example.com login joe password ⟦s<a7>4⟧
db.local:5432:shop:joe:⟦s<a7>4⟧
//registry.npmjs.org/:_authToken=⟦<a30>⟧
_auth=⟦<b24>==⟧
postgres://app:⟦s<a7>4⟧@db.local/main
redis://:⟦s<a7>4⟧@cache:6379/0
mongodb+srv://joe:⟦s<a7>4⟧@x.mongodb.net
https://joe:⟦s<a7>4⟧@git.example.com/x.git
https://⟦<a24>⟧@git.example.com/x.git
https://api.example.com/v1?token=⟦<a20>⟧
https://api.example.com/v1?x=1&api_key=⟦<x32>⟧
https://api.example.com/cb#access_token=⟦<a40>⟧
https://x.blob.core.windows.net/y?sv=2022&sig=⟦<b43>%3D⟧
https://bucket.s3.amazonaws.com/k?X-Amz-Signature=⟦<x64>⟧
https://hooks.slack.com/services/⟦T<u8>/B<u8>/<a24>⟧
https://discord.com/api/webhooks/⟦<d18>/<a60>⟧
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=⟦<b86>==⟧
Endpoint=sb://x.net/;SharedAccessKeyName=r;SharedAccessKey=⟦<b43>=⟧
aws_secret_access_key = ⟦<b40>⟧
aws secret access key ⟦<b20>7<b19>⟧
the api key is ⟦<x32>⟧
api key ⟦<x32>⟧
DD_API_KEY=⟦<x32>⟧
our encryption key is ⟦<x32>⟧
use the key ⟦<x32>⟧
DATADOG_APP_KEY: ⟦<x40>⟧
heroku api key: ⟦<x8>-<x4>-<x4>-<x4>-<x12>⟧
token: ⟦ab12cd34ef⟧
the token is ⟦<a20>⟧
session_id=⟦<x32>⟧
webhook secret: ⟦s<a14>4⟧
twilio auth token is ⟦<x32>⟧
see ⟦AKCp8<a60>⟧ there
see  ⟦AP6<a30>⟧ there
see aws_secret_key = '⟦<b40>⟧' there
see aws deploy token: "⟦<b40>⟧" there
see https://shop:⟦<x64>⟧@shop.cloudant.com there
see cloudant_password = ⟦<x64>⟧ there
see cl_apikey: ⟦<x64>⟧ there
see cl_pw ⟦qzvxkwjtrbnmlpsdhgfcyxwv⟧ there
see cos_hmac_secret_access_key = ⟦<x48>⟧ there
see ibm_cloud_iam_apikey = ⟦<a44>⟧ there
see softlayer_api_key=⟦<x64>⟧ there
see https://api.softlayer.com/soap/v3/⟦<x64>⟧ there
see //registry.npmjs.org/:_authToken=⟦<x8>-<x4>-<x4>-<x4>-<x12>⟧ there
see ⟦sq0csp-<a43>⟧ there
""".strip().splitlines()

KEPT = r"""
the password is kept in the vault
the password is sent to the server and never held in memory
the password is kept.
the password is state in the store
the password is metadata
the password is part of the form
the password is broken
the password is unclear
das Passwort ist Teil der Konfiguration
das Passwort ist unklar
das Passwort ist im Browser gespeichert
le mot de passe est trop vieux
la contraseña es muy débil
the password is wrong
the password is wrong and the user is locked
the password is hashed.
the password is required, the email is not
the password is stored in the vault
the password is optional
the password is empty
the password is case-sensitive
the password is never logged
Password is incorrect!
my password is gone
Password: required
password: optional
Password: the one from last week
- password: hashed with argon2
the password: never print it
change the password to something longer
change the password to uppercase letters only
send the password to Alice
add a password to Redis
set the password on login
reset the password on Monday
das Passwort ist falsch
das Passwort ist Pflicht
das Passwort ist verschlüsselt
das Passwort wird gehasht
das Passwort liegt im Tresor
das Passwort ist im Klartext
le mot de passe est incorrect
le mot de passe est obligatoire
le mot de passe est chiffré
la contraseña es obligatoria
la contraseña es incorrecta
la contraseña está vacía
パスワードは必須です
パスワードはbcryptでハッシュ化する
密码是必填项
use bcrypt as the password hash
use argon2id as the password algorithm
use the email as the password hint
with a textarea as password field
take it as a password
def login(user, password=None): pass
connect(user=user, password=password, host=host)
connect(host, password=settings)
    password = geheimnis
const password = hunter
let password = wert
password = password
password = value
password = get_password()
password for the test: required
password reset: done
password field: disabled
Passwort für alle: nein
the password for admin: see the vault
login(user: User, password: Password)
interface Login { user: string; password: string }
type Status = 'pass' | 'fail' | 'skip'
pass the token | stop
grep password | wc -l
cat passwords | sort
| password | string |
| password | required |
| name | password |\n|------|----------|\n| type | string |
| test | pass | fail |\n|------|------|------|\n| unit | 120 | 3 |
| field | password |\n|-------|----------|\n| length | at least 12 |
user, password\nname, email
name,password,role\nare the columns of it
the columns are user, password, role
password,\nusername,\nemail
pin: 13
pin the version to 1.2.3
pin 7 is the LED
the pin is required
pin numpy to 1.26
the PIN has four digits
PIN codes expire
otp: true
the door code is in the vault
exit code 1234
error code: 4711
status code 404
the access code is checked
the recovery codes are shown once
recovery codes: show them once
backup codes must be printed
the backup key is rotated
recovery code path is not tested
backup code-review rules
the seed phrase is never stored
seed: 42
passphrase: required
passphrase: must be at least twelve letters
login: see the docs
login / logout
the login page / dashboard
login flow / onboarding
log in with google / github
sign in with email/password
login with google/github
login: src/components
login: src/auth/login2.ts
credentials: config/prod2.yml
credentials: none
credentials: aws/gcp
user/password login
user / password fields
git@github.com:owner/repo.git
npm:react@18.2.0
email:joe@example.com
mailto:joe@example.com
Author:joe@example.com
Co-authored-by:joe@example.com
image: registry.io/app:v1@sha256:abc
ssh joe@10.0.0.5
http://localhost:3000/a:b@c
at 10:22 joe@example.com wrote
contact:support@example.com
--password is required
the --password option is hidden
use --password for it
pass --token to the tool
--password-stdin
--password=$DB_PASS
docker login --password-stdin
set --passphrase-fd 0
mysql -p shop
mysql -u root -p < dump.sql
openssl enc -d -k $KEY
openssl rsa -in k.pem -passin env:PW
keytool -storepass:env PW
keytool -storetype PKCS12
net use is deprecated
net user /add
net use Z: /delete
curl -u $USER:$PASS https://example.com
curl -k https://example.com
grep -k foo
kubectl create secret generic db --from-literal=password=$PW
kubectl create secret generic db --from-file=password
echo hello | sudo tee /etc/motd
echo done | grep done
identified by 'name'
a machine login with password prompts
login form password reset
APACHE2License
AP-South-1 and APAC2024
class APBaseController2
msbuild /p:Configuration=Release
sk-sp- is the prefix
sk_test is an environment
the sessions are sorted by key
tokens: 5000, cost: 3
secret: geheim
the secret is patience
token: required
iban DE89 3704 0044 0532 0130 00
use pnpm, not npm, and never commit to main without a test
the token: a JWT that we get from the auth service
rename the password field to passphrase and keep the secret handling as it is
password: string; token?: string | null
the secret is patience, the password is required
max_tokens: 4096, tokenizer: gpt2bpe, token_count=1234567
password = os.environ['DB_PASSWORD'] and token=${GITHUB_TOKEN}
password=$DB_PASSWORD token={{ token }} secret: <your-secret> api_key=YOUR_API_KEY_1
const token = await getToken2(user); this.password = password2
password_hash = argon2id(password), tokens are base64url, the token is sha256-hashed
see commit 9fceb02d0ae598e95dc970b74767f19372d61af8 and 356a192
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
session 123e4567-e89b-12d3-a456-426614174000
in handlers/tacitd_handlers/learning/extraction2/Prompt2Builder/very_long_directory_name_1.py
/home/dev/Projects2024/MyCompany_Backend1/src/main/java/com/example/UserServiceImpl2.java
getUserAccountByIdFromDatabaseConnectionPool2AndRetry3Times must stay
UserAuthenticationServiceImplFactoryBean2024Configuration1
TEST_USER_ACCOUNT_CREATION_WITH_2_FACTORS_AND_3_RETRIES
https://github.com/owner/repo/blob/main/src/SomeVeryLongFileNameWithNumbers123AndMore456.ts#L10-L20
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
integrity sha512-q7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuEq7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuE==
sk-learn and task-runner-configuration-option-names are fine, so is sk-something-with-a-long-name
git@github.com:owner/repo.git, http://localhost:8080/a@b, mailto:me@example.com
basic authentication with bearer authentication tokens
iVBORw0KGgoAAAANSUhEUg
--------------------------------------------------------------
Use TypeScript 5.4's `satisfies`; api key: see the vault, secret: in 1Password
""".strip().splitlines()
"""Sentences, code and commands that look like those above and have no secret."""
