import { describe, expect, test } from 'vitest'
import { withoutPersonal } from './recorded-parts.ts'
import { redactResponseText } from './recording.ts'
import { describeUnvalidated } from './redaction.ts'
import { redactNamedSecrets } from './secret-fields.ts'

describe('numbers', () => {
  test.each([
    '{"token_count": 1200, "max_tokens": 4096, "total_tokens":98000, "usage": {"tokens": 12345}}',
    '{"expires_in": 3600, "token_expires_at_ms": 1790000000000, "password_length": 1000}',
    '{"pin": 13, "pins": [1024, 2048], "pinned_at": 1790000000, "shipping": 12345, "spin": 1234}',
    '{"password_attempts": 10000, "secretary_id": 12345, "key": 123456, "zip_code": 94107, "status_code": 40401}',
    '{"price": 12345.67, "token": 1.5, "secret": 12, "password": null, "pin": true, "id": 12345678901234567890}',
    '{"asset_token": 123456, "seq": 1e400',
    '{"max_tokens": 100, "token_count": 5000, "tokens_used": 12000, "password_required": true, "password_min_length": 8000}',
    '{"recovery_codes_count":10, "backup_code_length": 8, "sacred": "incredible", "oauth": "google", "creds": "none"}',
    '{"password":{"min_length":1000},"options":{"value":12345},"api_keys_count":1234}',
  ])('that are no secrets keep their bytes: %s', (text) => {
    expect(redactNamedSecrets(text)).toBe(text)
  })

  test.each([
    ['{"pin":123456}', '{"pin":0}'],
    ['{"pin": "123456"}', '{"pin": "[redacted]"}'],
    ['{"user":{"userPassword":12345678,"name":"ana"}}', '{"user":{"userPassword":0,"name":"ana"}}'],
    ['{"api_key" : 99887766 , "apiKey":99887766}', '{"api_key" : 0 , "apiKey":0}'],
    ['{"pin_code":"0042","otp":-123456}', '{"pin_code":"[redacted]","otp":-0}'],
    ['[{"passcode":1234},{"passcode":5678}]', '[{"passcode":0},{"passcode":0}]'],
    ['{"note":"{\\"pin\\":123456}"}', '{"note":"{\\"pin\\":0}"}'],
    ['{"pin":12345.0,"otp":1.23456e5}', '{"pin":0,"otp":0}'],
    ['{"password":{"value":7144369350}}', '{"password":{"value":0}}'],
    ['{"passwords":[8094239597],"api_keys":[80942395]}', '{"passwords":[0],"api_keys":[0]}'],
    [
      '{"jwt":80942395,"authorization":80942395,"passwordConfirm":80942395}',
      '{"jwt":0,"authorization":0,"passwordConfirm":0}',
    ],
    [
      '{"pswd":"x1","recovery_codes":["ab12-cd34"],"backupCode":"9f3a","creds":"k3Vd91xLr0PcZk2m"}',
      '{"pswd":"[redacted]","recovery_codes":["[redacted]"],"backupCode":"[redacted]","creds":"[redacted]"}',
    ],
    ['{"pin":"123 456","otp":"123-456"}', '{"pin":"[redacted]","otp":"[redacted]"}'],
  ])('by the last word of their name: %s', (text, kept) => {
    expect(redactNamedSecrets(text)).toBe(kept)
  })

  test('in requests too, of a field that is free and of a body that the contract does not know', () => {
    const body = { metadata: { pin: 123456, digits: '4', otp: '123456', seq: 1234 } }
    expect(withoutPersonal(body)).toEqual({
      metadata: { pin: 0, digits: '4', otp: '[removed: 6 characters]', seq: 1234 },
    })
    expect(describeUnvalidated('{"password":12345678,"seq":1234}')).toBe('{"password":0,"seq":1234}')
  })
})

describe('texts', () => {
  test.each([
    '{"click_url":"https://shop.example/?utm_source=a&token_type=b&page=2#top","at":"12:30@home","mail":"a:b"}',
    '{"help":"Use Bearer authentication, or Basic implementation details; a=b, key=1","name":"token","values":["a"]}',
    '[{"name":"colour","value":"red"},{"key":"max_tokens","value":"4096"}]',
    '{"pem":"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----","note":"pass the cookie jar"}',
    'const password = read({"password": form.password.value})',
    '<script nonce="q7Zk2mVd91xLr0Pc">play({nonce: "q7Zk2mVd91xLr0Pc"})</script>',
    'const token = form.value\nlet secret = options.secret\npassword: true\nretries: 3\nkey: render.viewable\n',
    '<label for="password">Your password</label><input type="password" name="password" value=""><p>No session</p>',
    '<script>const accessToken = read(), passwordInput = "password-input"</script><p>Pass on</p>',
    'grant_type=client_credentials&page=2&sort=name',
    '{"code":"activation_token_expired","key":"render.viewable","session":"turn-4711-abc","signature":"v1"}',
    '{"credentials":"include","auth":"none","csrf":"disabled","passkey":"supported","cookies":{"text":"We use cookies"}}',
    '{"properties":{"password":{"type":"string","title":"Your password"}},"auth":{"kind":"oauth2","label":"Sign in"}}',
    '{"tokens":["hello","world"],"title":"Use token=free at checkout","note":"Basic training2024 starts"}',
    '{"authorisation_status":"approved","authorised":"by Ann 2024","authorisation_policy":"OAuth2"}',
    '{"boarding_pass":"Gate 4","secret_garden":"a book","bearer":"Mrs Smith","token_symbol":"ETH","pass":"true"}',
    '{"key":"banner-300x250-home-2","code":"SKU-2024-BLUE-XL-01","pkg":"react@18.js.org","required":["password","name"]}',
    '{"url":"http://localhost:8080/a/logo@2x.png","at":"https://medium.example/@bob.smith.io/x","css":"sk-fading-circle-out"}',
    '{"tokenizer":"cl100k_base","tokenization":"o200kbase1","tokenise":"wordpiece30522","secretary":"ann4711","secretariat":"geneva2024"}',
    '{"token_count":"1200","tokens_used":"98000","password_required":"required","password_min_length":"8","token_info":"none"}',
    '{"name":"password","value":"","label":"say \\"hi\\": now"}',
    '{"mnemonic":"Alt+F","pat":"home","psk":"wpa2","parola_count":3,"path":"a","seed":"12","compass_order":"north12","desenha":"linha12","phrase":"good morning"}',
    '<script>const HEADER_API_KEY = "X-Api-Key", kinds = ["password", "email"]; input.type = "password"</script>',
    '<script>for(i=0;i<n.length;i++){x="it";y=i<2?password:token}</script><meta name="viewport" content="width=device-width">',
    '<input type="hidden" name="page" value="12a"><input name="password" data-required="true"><a href="/x?page=2&amp;b=1">x</a>',
    '{"id":"colour","value":"red12345","title":"A title","label":"Size","values":["hello2world"],"content":"text1234"}',
    '{"a":"50%25 of 100%","b":"https://h/?n=https%3A%2F%2Fy%2F%3Fpage%3D2","c":"QmFzZTY0IG9mIGEgdGV4dA==","d":"the bearer of news"}',
    '{"a":"//cdn.example:8080/logo@2x.png","b":"// see a: b","rawHeaders":["Host","a1b2c3.example","Accept","text/html"]}',
    '{"token":"banner-300x250-home","csrf":"sha-256-with-rsa","msg":"Password: must have 8 letters, cookie: theme=dark"}',
    '{"key":"2026-11-29T10:00:00","code":"error_with_letters_only","secret_name":"the name","pin_code_length":"4"}',
    '{"a":"npm_config_registry","b":"hvs.example.com","c":"SG.1.2","d":"at 12345678:AAPL","e":"pypi-simple","f":"shp_at_night","g":"https://discord.com/api/webhooks/1/a"}',
    '{"error":"error: password: must have 8 letters, token: missing, if (token == abc12345)","b":"<label>Password</label><title>Reset the password</title>"}',
    '{"a":"<password>password</password><name>password</name><p>Enter it2now</p>","b":"svc --token-file a1.txt --password-stdin --tokens 4096"}',
    '<script>for(i=0;i<token>>1;i++)a1234567(b<c);x=tokens=>tokens.length;f(password=>"Enter your password")</script>',
    '{"keys":[{"kty":"EC","x":"c1d-yMIYJebxlwO6DYlVPnSgPE3FBRLpACSDcFtI","y":"EwYe3yA8uJqnQhGcNWc0dF2Z5BjmAVWkF9Gl"}],"k":"aZ09aZ09aZ09aZ09aZ09x","d":"M10"}',
    '{"spki":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsIMGElmc1k0Xb2xYQTG0","rsa":"MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAu1SU1LfVLPHCozMxH2Mo","x5c":["MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa"]}',
    '{"a":"your password \'must have 8 letters\', the token \\"ready\\", a session \\"turn-4711-abc\\"","b":"<password> <label>Your2Password</label></password>"}',
    '<style>a{--token-font: "Inter9Var";--secret-size:"abc12345"}</style>',
    JSON.stringify({
      a: 'a { --token-font: Inter9Var; --token-size:abc12345 }',
      b: '{"a":1} <b>x1y2z3a</b> <p class="t0ken">',
    }),
    '{"name":"colour","payload":"red12345","raw":"blue1234","entry":"b","plain":"text4711"}',
    JSON.stringify({
      a: '12:30 _t=a1b2c3d, .5=x, 2x=abc12345, _token: required, _csrf=true, ...token, see ._session: turn-4711-abc',
      b: '.token:nth-child(2n+1) { } .password:hover a1b2c3d { } <_password>password</_password> 2fa: on, 3.token=free',
      c: 'https://h/?_page=2&_sort=name&2=a1b2c3d4&_ga=GA1.2.12345678.1700000000&.rand=8abc123d',
    }),
    '<script>for(;i<_n;i++){t._token=e._token2;x={_csrf:e.readCsrf2,_password:a1234567}}</script>',
  ])('that have no secret keep their bytes: %s', (text) => {
    expect(redactResponseText(text)).toBe(text)
  })

  const secret = 'Zx9qLm42RtYw8Kp3'
  test.each([
    `{"next":"https://host/x?access_token=${secret}&b=1"}`,
    `{"next":"https:\\/\\/host\\/x#id_token=${secret}"}`,
    `{"dsn":"postgres://svc:${secret}@db/svc"}`,
    `{"log":"sent Authorization: Bearer ${secret}, password=${secret}"}`,
    `{"pem":"-----BEGIN RSA PRIVATE KEY-----\\n${secret}\\n-----END RSA PRIVATE KEY-----"}`,
    `{"headers":[{"name":"Authorization","value":"${secret}"},{"key":"x-api-key","value":"${secret}"}]}`,
    `{"cookie":"a=${secret}","csrf":"${secret}","otp":"${secret}","authentication":"${secret}","X-XSRF":"${secret}"}`,
    `data: {"password":"${secret}"}\n\n`,
    `)]}',\n{"password":"${secret}"}`,
    `callback({"password":"${secret}"})`,
    `{"session":"${secret}","sid":"${secret}","signature":"${secret}","key":"${secret}","code":"${secret}"}`,
    `{"pass":"${secret}","hmac":"${secret}","secret_name":"${secret}","contraseña":"${secret}","Kennwort":"${secret}"}`,
    `{"wachtwoord":"${secret}","lösenord":"${secret}","hasło":"${secret}","heslo":"${secret}","salasana":"${secret}","şifre":"${secret}"}`,
    `{"пароль":"${secret}","密码":"${secret}","パスワード":"${secret}","비밀번호":"${secret}","nova_senha":"${secret}","passord":"${secret}"}`,
    `{"authorisation":"${secret}","proxyAuthorisation":"${secret}","log":"Authorisation: Bearer ${secret}"}`,
    `{"pat":"${secret}","psk":"${secret}","seed_phrase":"${secret}","recoveryPhrase":"${secret}"}`,
    `[{"name":"sig","value":"${secret}"}]`,
    `{"token_info":"${secret}","tokenInput":"${secret}","token_identifier":"${secret}","token_issued":"${secret}"}`,
    `{"secret_array":"${secret}","secretArgs":"${secret}","secret_area":"${secret}"}`,
    `{"log":"session: a1 ended, token: ${secret}, at: 12:30"}`,
    `{"token":"${secret}","api_key":"ABCD-1234-EFGH"}`,
    `{"a":"https://b.example/x?sig=${secret}%3D","b":"AccountName=x;AccountKey=${secret}==;E=1","c":"X-Amz-Signature=${secret}"}`,
    `{"env":"A=1\\nDB_PASSWORD=a,${secret}\\nB=2","dsn":"postgres://bob:a/${secret}@db/x","url":"https://${secret}@host/x.git"}`,
    `{"value":"${secret}","name":"password"}`,
    `{"headers":[["Authorization","Token ${secret}"]],"tokens":{"${secret}":true}}`,
    `{"a":"ghp_${secret}${secret}","b":"sk-proj-${secret}","c":"rk_live_${secret}","d":"xoxb-1-${secret}","e":"AIza${secret.repeat(2)}abc"}`,
    `{"a":"https://hooks.slack.com/services/T0/B0/${secret}","b":"github_pat_${secret}${secret}"}`,
    `{"a":"npm_${secret}${secret}abcd","b":"glpat-${secret}abcd","c":"SG.${secret}abcdef.${secret}${secret}abcdefghijk"}`,
    `{"a":"shpat_${'0a'.repeat(16)}","b":"hf_${secret}${secret}ab","c":"hvs.${secret}${secret}","d":"whsec_${secret}${secret}"}`,
    `{"a":"123456789:AA${secret}${secret}a","b":"https:\\/\\/discord.com\\/api\\/webhooks\\/1234\\/${secret.repeat(4)}"}`,
    `{"pem":"-----BEGIN RSA PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\nDEK-Info: A-2,1\\n\\n${secret}\\n-----END RSA PRIVATE KEY-----"}`,
    `{"pgp":"-----BEGIN PGP PRIVATE KEY BLOCK-----\\n${secret}\\n-----END PGP PRIVATE KEY BLOCK-----"}`,
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}-`,
    `<script>var settings = {apiSecret:"${secret}"}</script>`,
    `<script>a = {password: \`\${b}${secret}\`, token: \`\${c} ${secret}\`}</script>`,
    `access_token=${secret}&token_type=bearer&refresh_token=${secret}`,
    `var password = "${secret}"; const apiKey = '${secret}'; f(x)`,
    `go(); cfg.secretKey = "correct ${secret}"; window["apiKey"]=\`${secret}\``,
    `h.append("X-Api-Key","${secret}"); f("password", '${secret}'); g({name:'X-Api-Key',value:'${secret}'})`,
    `a(); b = {password: "${secret.replace(/\d/g, '')}${secret}"}, u = "/x?password=${secret}"`,
    `<input type=hidden name=csrf_token value=${secret}><input name=password value='${secret}'>`,
    `<input title="a<b>" (x) value="${secret}" name="password"><div data-password=${secret}>`,
    `<meta name=csrf-token content=${secret}><textarea class=a name=password>${secret}</textarea>`,
    `<a href="/x?password=${secret}">x</a><a href=/x#access_token=${secret}>y</a>`,
    `<div data-x="{&quot;password&quot;:&quot;${secret}&quot;}">x</div><!-- password=${secret} -->`,
    `<!-- password: ${secret} --><iframe srcdoc="&lt;input name=password value=${secret}&gt;"></iframe>`,
    `{"adm":"<input name=password value=${secret}>","b":"<script>var password='${secret}'</script>"}`,
    `[{"Key":"DbPassword","Value":"${secret}"},{"VALUE":"${secret}","NAME":"password"}]`,
    `[{"key":"password","value":{"stringValue":"${secret}"}},{"value":{"stringValue":"${secret}"},"key":"password"}]`,
    `[{"name":"password","values":["${secret}","${secret}"]},{"id":"password","label":"A","value":"${secret}"}]`,
    `{"rawHeaders":["Host","a","X-Api-Key","${secret}"],"a":[{"title":"password","value":"${secret}"},{"property":"apiKey","v":"${secret}"}]}`,
    `{"a":"Bearer%20${secret}","b":"Bearer\\t${secret}","c":"Bearer \\"${secret}\\"","d":"//bob:${secret}@h/"}`,
    `{"a":"https%3A%2F%2Fbob%3A${secret}%40h%2F","b":"-----BEGIN%20PRIVATE%20KEY-----%0A${secret}"}`,
    `{"a":"https://x/?n=https%3A%2F%2Fy%2F%3Fpassword%3D${secret}&b=1","b":"https%253A%252F%252Fy%252F%253Fpassword%253D${secret}"}`,
    ...[
      `password="${secret}"`,
      `password='${secret}'`,
      `password: ${secret}`,
      `**Password:** ${secret}`,
      `__Token:__ ${secret}`,
      `"password" => "${secret}"`,
      `api_key := "${secret}"`,
    ].map((text) => JSON.stringify({ error: `error: ${text} is wrong` })),
    JSON.stringify({ a: `user[password]="${secret}"`, b: `{password: ${secret}}`, c: `DB_PASSWORD = ${secret}` }),
    JSON.stringify({ a: `svc --password ${secret} -v`, b: `svc --api-key="${secret}"`, c: `svc --token=${secret}` }),
    JSON.stringify({
      a: `error in <a:password>${secret}</a:password>`,
      b: `<clientSecret><![CDATA[${secret}]]></clientSecret>`,
    }),
    JSON.stringify({
      a: `<key>password</key>\n<string>${secret}</string>`,
      b: `<e><name>api_key</name><value>${secret}</value></e>`,
    }),
    `{"a":{"key":"db_password","val":"${secret}"},"b":{"field":"password","content":"${secret}"},"c":["password","${secret}"]}`,
    JSON.stringify({
      a: `{"a":1} <password>${secret}</password>`,
      b: `"a": <key>api_key</key><string>${secret}</string>`,
    }),
    JSON.stringify({ a: `(--auth.token ${secret})`, b: `{--password=${secret}}` }),
    ...['_', '__', '.', '2fa_', '.._'].flatMap((start) => [
      JSON.stringify({
        a: `${start}token=${secret}`,
        b: `${start}password: ${secret}`,
        c: `(${start}password=${secret})`,
      }),
      JSON.stringify({ a: `//registry.npmjs.org/:${start}authToken=${secret}`, b: `{${start}secret:${secret}}` }),
      JSON.stringify({ a: `https://h/x?${start}token=${secret}`, b: `a=1&${start}csrf=${secret}` }),
      `<a href="/x?${start}token=${secret}">x</a><script>f("/x#${start}token=${secret}")</script>`,
    ]),
    JSON.stringify({ a: `<_password>${secret}</_password>`, b: `{"a":1} <_password>${secret}</_password>` }),
    `<_password>${secret}</_password><_token value=1 data-_token="${secret}"></_token>`,
    JSON.stringify({ a: `login with password "${secret}" failed`, b: `**password**: \`${secret}\`` }),
    JSON.stringify({
      a: `<password>\n  <value>${secret}</value></password>`,
      b: `say \\"password\\": \\"${secret}\\"`,
    }),
    `{"a":{"env":"DB_PASSWORD","payload":"${secret}"},"b":{"plaintext":"${secret}","entry":"api_key"},"c":{"option":"password","secret_value":"${secret}"}}`,
    `{"keys":[{"kty":"oct","k":"${secret}${secret}"},{"d":"${secret}${secret}","x":"a","kty":"OKP"}]}`,
    `{"jwk":"{\\"kty\\":\\"RSA\\",\\"p\\":\\"${secret}\\"}"}`,
    `<script>const key = {kty: 'RSA', n: 'a', dq: '${secret}${secret}', ext: true}</script>`,
    `{"ppk":"PuTTY-User-Key-File-3: ssh-ed25519\\nPublic-Lines: 1\\nAAAA\\nPrivate-Lines: 1\\n${secret}\\nPrivate-MAC: 00ff"}`,
    `{"ssh2":"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\\n${secret}\\n---- END SSH2 ENCRYPTED PRIVATE KEY ----"}`,
    ...[
      'MIIEvgIBADANBgkqhkiG9w0B',
      'MIIEowIBAAKCAQEA',
      'MIGHAgEAMBMGByqGSM49',
      'MHcCAQEEI',
      'MC4CAQAwBQYDK2VwBCIEI',
      'MIIFHDBOBgkqhkiG9w0BBQ0w',
      'b3BlbnNzaC1rZXktdjE',
    ].map((start) => JSON.stringify({ der: `it is ${start}${secret}${secret}\n${secret}==, then` })),
  ])('by shape, by the name of a parameter or a pair, and around JSON: %s', (text) => {
    const kept = redactResponseText(text)
    expect(kept).not.toContain(secret)
    expect(kept).toContain('[redacted]')
  })

  test.each([
    'https://bob:hunter2@h/',
    'Authorization: Bearer hunter2hunter2',
    'ghp_0123456789abcdefghij',
    'AKIA0123456789ABCDEF',
    '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtYXgifQ.5mhb0V3Zr_t-1Kq9dTj2QwPz',
  ])('in base64, and with every character percent-encoded: %s', (text) => {
    const percent = [...text].map((each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
    expect(redactResponseText(JSON.stringify({ a: btoa(text) }))).not.toContain(btoa(text))
    expect(redactResponseText(JSON.stringify({ a: percent }))).not.toContain(percent)
  })

  test('numbers of a pair, and with a fraction', () => {
    expect(redactResponseText('[{"name":"otp","value":98210182},{"value":98210182,"name":"otp"}]')).not.toContain(
      '9821',
    )
    expect(redactResponseText('{"password":28210476.5}')).toBe('{"password":0}')
  })

  test.each([
    ...[
      'password_confirmation',
      'passwordConfirm',
      'password_again',
      'passwordRepeat',
      'password_old',
      'password_admin',
    ],
    ...['api_key_prod', 'access_token_new'],
  ])('a word under the name %s', (name) => {
    expect(redactResponseText(`{"${name}":"fnmkbddaf"}`)).toBe(`{"${name}":"[redacted]"}`)
  })

  test('the words that open a wallet', () => {
    const words = 'army van defense carry jealous true garbage claim echo media make crunch'
    expect(redactResponseText(`{"mnemonic":"${words}"}`)).not.toContain('jealous')
  })

  test('in JSON in strings, at any depth', () => {
    let text = `{"password":"${secret}"}`
    for (let depth = 0; depth < 6; depth++) {
      text = JSON.stringify({ inner: text })
      expect(redactResponseText(text)).not.toContain(secret)
    }
  })
})
