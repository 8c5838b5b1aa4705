"""Kinds of secrets as people write them: what is between `⟦` and `⟧` must be blanked, and nothing else.

`<aN>` and the like become random characters, as in support_secrets.py.
"""

from __future__ import annotations

KINDS = """
the password is ⟦Sommer⟧
my password is ⟦swordfish⟧, please log in
the db password is ⟦dragonfly⟧ and the host is db.local
Password: ⟦geheim⟧
password: ⟦Sommer⟧.
the password for the staging server is ⟦monkey⟧
the password is now ⟦Winter⟧!
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
パスワードは⟦geheim⟧です
密码是⟦geheim⟧
use ⟦geheim⟧ as the password
nimm ⟦Sommer⟧ als Passwort
password=⟦geheim⟧
host=db user=joe password=⟦geheim⟧ dbname=shop
spring.datasource.password=⟦geheim⟧
user: joe, pass: ⟦geheim⟧
| password | ⟦Sommer⟧ |
| user | joe |\\n| password | ⟦geheim⟧ |
| user | password |\\n|------|----------|\\n| joe | ⟦Sommer⟧ |\\n| eve | ⟦w<a7>4⟧ |
user,password\\njoe,⟦geheim⟧\\neve,⟦Sommer⟧
user\\tpassword\\njoe\\t⟦geheim⟧
 name | password \\n------+----------\\n joe  | ⟦geheim⟧
password\\t⟦Sommer⟧
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
Backup codes:\\n- ⟦a1b2c3d4\\n- e5f6a7b8\\n- c9d0e1f2⟧
recovery code: ⟦abcd-efgh⟧
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
net use Z: \\\\\\\\srv\\\\share ⟦geheim⟧ /user:joe
net use \\\\\\\\srv\\\\share /user:corp\\\\joe ⟦Sommer⟧
net user joe ⟦geheim⟧ /add
keytool -list -keystore a.jks -storepass ⟦geheim⟧
jarsigner -keypass ⟦geheim⟧ -storepass ⟦changeit⟧ app.jar me
mysql -u root -p⟦geheim⟧ shop
mysql -uroot \\\\\\n  -p⟦geheim⟧ shop
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
psexec \\\\\\\\srv -u joe -p ⟦geheim⟧ cmd
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
Cookie: sid_=⟦<a32>⟧
""".strip().splitlines()
