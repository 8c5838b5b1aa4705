"""Kinds of secrets as people write them: what is between `⟦` and `⟧` must be blanked, and nothing else.

`<aN>` and the like become random characters, as in support_secrets.py; `\\n` and `\\t` are a new line and a tab.
"""

from __future__ import annotations

KINDS = r"""
the password is ⟦Sommer⟧ for the staging server
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
password = ⟦rosebud⟧
[db]\nuser = joe\npassword = ⟦rosebud⟧\nport = 5432
db.password = ⟦rosebud⟧
java -Djavax.net.ssl.keyStorePassword=⟦tulpe⟧ -jar a.jar
kubectl create secret generic x --from-literal 'token=⟦tulpe⟧'
mongo joe:⟦tulpe⟧@cluster0.mongodb.net
Bitlocker recovery key: ⟦123456-234567-345678-456789-567890-678901-789012-890123⟧
host=db user=joe password=⟦geheim⟧ dbname=shop
user: joe, pass: ⟦geheim⟧
| password | ⟦Sommer⟧ |
| user | joe |\n| password | ⟦geheim⟧ |
| user | password |\n|------|----------|\n| joe | ⟦Sommer⟧ |\n| eve | ⟦w<a7>4⟧ |
user,password\njoe,⟦geheim⟧\neve,⟦Sommer⟧
user\tpassword\njoe\t⟦geheim⟧
 name | password \n------+----------\n joe  | ⟦geheim⟧
password\t⟦Sommer⟧
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
sign in with joe:⟦Sommer24⟧
username/password: joe/⟦geheim⟧
machine api.example.com login joe password ⟦geheim⟧
Backup codes:\n- ⟦a1b2c3d4\n- e5f6a7b8\n- c9d0e1f2⟧
recovery code: ⟦abcd-efgh⟧
recovery code ⟦ABCD-EFGH-IJKL⟧
user:⟦pa55⟧@db.internal
recovery key ⟦<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>⟧
backup codes are ⟦1234 5678, 2345 6789⟧
seed phrase: ⟦Zebra apple Lemon tree river stone cloud metal paper glass wheel horse⟧
root:⟦geheim⟧@10.0.0.5
deploy:⟦Sommer2024⟧@db.example.com:5432
joe:⟦geheim⟧@localhost/shop
openssl enc -aes-256-cbc -k ⟦geheim⟧ -in a -out b
openssl rsa -in k.pem -passout pass:⟦geheim⟧
net use Z: \\srv\share ⟦geheim⟧ /user:joe
net use \\srv\share /user:corp\joe ⟦Sommer⟧
net user joe ⟦geheim⟧ /add
keytool -list -keystore a.jks -storepass ⟦geheim⟧
jarsigner -keypass ⟦geheim⟧ -storepass ⟦changeit⟧ app.jar me
mysql -uroot \\n  -p⟦geheim⟧ shop
curl -s https://example.com --user joe:⟦geheim⟧
http -a joe:⟦geheim⟧ example.com
lftp -u joe,⟦geheim⟧ ftp.example.com
sshpass -p ⟦geheim⟧ ssh joe@host
sshpass -p '⟦ge heim⟧' ssh joe@host
db.local:5432:shop:joe:⟦geheim⟧
*:*:*:joe:⟦geheim⟧
kubectl create secret generic db --from-literal=key=⟦s<a7>4⟧ --from-literal=user=⟦joe⟧
gpg --batch --passphrase ⟦geheim⟧ -d a.gpg
psexec \\srv -u joe -p ⟦geheim⟧ cmd
cmdkey /add:srv /user:joe /pass:⟦geheim⟧
xfreerdp /u:joe /p:⟦geheim⟧ /v:srv
echo ⟦geheim⟧ | sudo -S apt update
echo ⟦geheim⟧ | passwd --stdin joe
nmcli dev wifi connect home password ⟦geheim⟧
sqlplus scott/⟦tiger⟧@orcl
rabbitmqctl add_user joe ⟦geheim⟧
mongosh -u joe -p ⟦geheim⟧ shop
svn co --username joe --password ⟦geheim⟧ https://svn.example.com
DB_PASSWORD: "⟦correct horse⟧"
the api key is ⟦Zx81mn40qp⟧
"client_secret": "⟦s3cr3tvalue⟧"
postgres://app:⟦s3cret⟧@db.local/main
redis://:⟦hunter2⟧@cache:6379/0
Authorization: Bearer ⟦<x20>⟧
password ⟦hunter2⟧
use password '⟦hunter<d3>⟧' for it
pwd=⟦x<a8>7⟧
passphrase: ⟦c<a6>9-h<a4>-b<a5>⟧
passcode is ⟦<d6>⟧
PIN code: ⟦a<d6>b7⟧
das Passwort ist ⟦hunter2⟧
das Kennwort lautet ⟦Gh<a6>8⟧
le mot de passe est ⟦hunter2⟧
mdp: ⟦s<a7>4⟧
la contraseña es ⟦hunter2⟧
contraseña: ⟦s<a7>4⟧
clave: ⟦s<a7>4⟧
het wachtwoord is ⟦hunter2⟧
wachtwoord: ⟦s<a7>4⟧
a senha é ⟦hunter2⟧
la password è ⟦s<a7>4⟧
heslo: ⟦s<a7>4⟧
lösenord: ⟦s<a7>4⟧
adgangskode: ⟦s<a7>4⟧
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
mysqldump --user=x -p'⟦<a9>⟧' shop > x.sql
curl --user a:⟦b<a6>⟧ -X POST https://api.example.com
curl -H 'Authorization: Bearer ⟦<a24>⟧' https://x.io
curl -H 'X-Api-Key: ⟦<a24>⟧' https://x.io
Authorization: Basic ⟦<b24>==⟧
DB_PASS=⟦geheim⟧
SECRET_KEY_BASE=⟦<x64>⟧
spring.datasource.password=⟦s<a7>4⟧
{"client_secret": "⟦<a20>⟧"}
sshpass -p ⟦s<a7>4⟧ ssh root@db
docker login -u me -p ⟦s<a7>4⟧ registry.io
redis-cli -h cache -a ⟦s<a7>4⟧
ldapsearch -D cn=x -w ⟦s<a7>4⟧
sqlcmd -S db -U sa -P ⟦s<a7>4⟧
zip -P ⟦s<a7>4⟧ x.zip y
7z x -p⟦s<a7>4⟧ x.7z
htpasswd -bc .htpasswd joe ⟦s<a7>4⟧
echo ⟦s<a7>4⟧ | sudo -S id
echo 'root:⟦s<a7>4⟧' | chpasswd
ConvertTo-SecureString "⟦s<a7>4⟧" -AsPlainText
CREATE USER joe IDENTIFIED BY '⟦s<a7>4⟧'
ALTER USER joe WITH PASSWORD '⟦s<a7>4⟧'
db.local:5432:shop:joe:⟦s<a7>4⟧
//registry.npmjs.org/:_authToken=⟦<a30>⟧
_auth=⟦<b24>==⟧
postgres://app:⟦s<a7>4⟧@db.local/main
redis://:⟦s<a7>4⟧@cache:6379/0
https://⟦<a24>⟧@git.example.com/x.git
https://api.example.com/v1?x=1&api_key=⟦<x32>⟧
https://api.example.com/cb#access_token=⟦<a40>⟧
https://x.blob.core.windows.net/y?sv=2022&sig=⟦<b43>%3D⟧
https://hooks.slack.com/services/⟦T<u8>/B<u8>/<a24>⟧
https://discord.com/api/webhooks/⟦<d18>/<a60>⟧
DefaultEndpointsProtocol=https;AccountName=x;AccountKey=⟦<b86>==⟧
Endpoint=sb://x.net/;SharedAccessKeyName=r;SharedAccessKey=⟦<b43>=⟧
aws_secret_access_key = ⟦<b40>⟧
aws secret access key ⟦<b20>7<b19>⟧
the api key is ⟦<x32>⟧
our encryption key is ⟦<x32>⟧
use the key ⟦<x32>⟧
DATADOG_APP_KEY: ⟦<x40>⟧
heroku api key: ⟦<x8>-<x4>-<x4>-<x4>-<x12>⟧
token: ⟦ab12cd34ef⟧
session_id=⟦<x32>⟧
webhook secret: ⟦s<a14>4⟧
twilio auth token is ⟦<x32>⟧
see  ⟦AP6<a30>⟧ there
see aws deploy token: "⟦<b40>⟧" there
see cl_apikey: ⟦<x64>⟧ there
see cl_pw ⟦qzvxkwjtrbnmlpsdhgfcyxwv⟧ there
see cos_hmac_secret_access_key = ⟦<x48>⟧ there
see https://api.softlayer.com/soap/v3/⟦<x64>⟧ there
""".strip().splitlines()

KEPT = r"""
the password is kept.
the password is metadata
the password is broken
the password is unclear
the password is wrong
the password is wrong and the user is locked
the password is hashed.
the password is empty
the password is case-sensitive
my password is gone
send the password to Alice
reset the password on Monday
le mot de passe est obligatoire
le mot de passe est chiffré
パスワードはbcryptでハッシュ化する
use argon2id as the password algorithm
connect(user=user, password=password, host=host)
connect(host, password=settings)
    password = geheimnis
const password = hunter
let password = wert
password = password
password = value
login(user: User, password: Password)
type Status = 'pass' | 'fail' | 'skip'
cat passwords | sort
| name | password |\n|------|----------|\n| type | string |
| field | password |\n|-------|----------|\n| length | at least 12 |
user, password\nname, email
password,\nusername,\nemail
pin: 13
the recovery codes are shown once
recovery codes: show them once
backup codes must be printed
the backup key is rotated
recovery code path is not tested
passphrase: must be at least twelve letters
the login page / dashboard
login flow / onboarding
log in with google / github
login with google/github
login: src/components
credentials: config/prod2.yml
credentials: aws/gcp
contact:support@example.com
--password is required
the --password option is hidden
use --password for it
pass --token to the tool
--password=$DB_PASS
openssl enc -d -k $KEY
keytool -storepass:env PW
curl -u $USER:$PASS https://example.com
kubectl create secret generic db --from-literal=password=$PW
a machine login with password prompts
login form password reset
tokens: 5000, cost: 3
secret: geheim
the secret is patience
the secret is patience, the password is required
max_tokens: 4096, tokenizer: gpt2bpe, token_count=1234567
password = os.environ['DB_PASSWORD'] and token=${GITHUB_TOKEN}
password=$DB_PASSWORD token={{ token }} secret: <your-secret> api_key=YOUR_API_KEY_1
const token = await getToken2(user); this.password = password2
password_hash = argon2id(password), tokens are base64url, the token is sha256-hashed
getUserAccountByIdFromDatabaseConnectionPool2AndRetry3Times must stay
UserAuthenticationServiceImplFactoryBean2024Configuration1
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
integrity sha512-q7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuEq7Zt2XbN9vKd4RfW8mLc1YhP6sJg3TuE==
basic authentication with bearer authentication tokens
""".strip().splitlines()
"""Sentences, code and commands that look like those above and have no secret."""
