import { createPublicKey, createSecretKey } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { Algorithm } from '@agent-workflow/gateway/auth/algorithms';
import type { Issuer } from '../servers/issuer.ts';
import {
  audience,
  ecPair,
  encode,
  goodClaims,
  inSeconds,
  issuer,
  jwkOf,
  makeToken,
  pemOf,
  rsaPair,
  signature,
  type Part,
} from '../servers/tokens.ts';

/** The issuer's own keys: its RSA pair is behind every RS algorithm, so that only the pin tells those apart. */
export const rsa = rsaPair();
const curves = { ES256: ecPair('P-256'), ES384: ecPair('P-384'), ES512: ecPair('P-521') };
const secret = createSecretKey(Buffer.alloc(64, 'k'));
export const foreignKeys = rsaPair();
const pem = pemOf(rsa.publicKey);
const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
const pkcs1 = rsa.publicKey.export({ type: 'pkcs1', format: 'pem' }).toString();

export const signerOf = (algorithm: Algorithm) => {
  if (algorithm.startsWith('HS')) return secret;
  return algorithm.startsWith('RS') ? rsa.privateKey : curves[algorithm as keyof typeof curves].privateKey;
};

export const keyOf = (algorithm: Algorithm): string => {
  if (algorithm.startsWith('HS')) return 'k'.repeat(64);
  return pemOf(createPublicKey(signerOf(algorithm)));
};

export const bearer = (token: string): string => `Authorization: Bearer ${token}`;

export const rs256 = { alg: 'RS256', typ: 'JWT', kid: 'key-1' };
/** The issuer's own signature over whatever a header and claims say. */
export const own = (claims: Part = goodClaims(), header: Part = rs256): string =>
  makeToken('RS256', rsa.privateKey, { header, claims });
export const good = own();
const [goodHeader = '', goodPayload = '', goodSignature = ''] = good.split('.');
/** A stranger's signature, with a header that says where to find the stranger's key. */
const forged = (header: Readonly<Record<string, unknown>> = {}): string =>
  makeToken('RS256', foreignKeys.privateKey, { header: { ...rs256, ...header } });
const unsigned = (alg: unknown, end = ''): string => `${encode({ alg, typ: 'JWT' })}.${goodPayload}.${end}`;
const withHs = (algorithm: 'HS256' | 'HS384' | 'HS512', key: string | Uint8Array): string =>
  makeToken(algorithm, key, { header: { alg: algorithm, typ: 'JWT', kid: 'key-1' } });
/** Claims of which one is gone. */
const without = (name: string): Part => ({ ...goodClaims(), [name]: undefined });
/** Claims as text, with one more member before the rest or after it. */
const raw = (member: string): string => `{${member},${JSON.stringify(goodClaims()).slice(1)}`;
const rawLast = (member: string): string => `${JSON.stringify(goodClaims()).slice(0, -1)},${member}}`;
const flip = (part: string, at: number): string =>
  `${part.slice(0, at)}${part[at] === 'A' ? 'B' : 'A'}${part.slice(at + 1)}`;

const lure = (path: string): string => `http://127.0.0.1:9/${path}`;
/** Replaced by the address of the foreign server, which is known only later. */
const placeholder = 'FOREIGN';

type BadClaims = readonly [what: string, claims: Part];

/** Claims that the issuer itself signed, and that are refused all the same. */
const badClaims: readonly BadClaims[] = [
  // Who issued it, and for whom.
  ...[
    'https://other.test/',
    'https://issuer.test',
    'HTTPS://ISSUER.TEST/',
    `${issuer} `,
    '',
    null,
    7,
    [issuer],
    {},
  ].map((iss): BadClaims => [`iss ${JSON.stringify(iss)}`, goodClaims({ iss })]),
  ['no iss', without('iss')],
  ...[
    'other',
    'AGENT-WORKFLOW',
    `${audience} `,
    `${audience},other`,
    '',
    null,
    7,
    [],
    ['other'],
    [[audience]],
    {},
    { 0: audience },
  ].map((aud): BadClaims => [`aud ${JSON.stringify(aud)}`, goodClaims({ aud })]),
  ['no aud', without('aud')],
  // When.
  ['no exp', without('exp')],
  ...[
    inSeconds(-60),
    inSeconds(-60) + 0.5,
    0,
    -1,
    -1e300,
    String(inSeconds(600)),
    'never',
    '',
    null,
    true,
    [],
    {},
    [inSeconds(600)],
  ].map((exp): BadClaims => [
    `exp ${typeof exp === 'number' && exp > 0 ? 'in the past' : JSON.stringify(exp)} ${typeof exp === 'number' && !Number.isInteger(exp) ? 'as a fraction' : ''}`,
    goodClaims({ exp }),
  ]),
  ...['1e999', '-1e999', '1e300', '99999999999999999999'].map((exp): BadClaims => [
    `exp ${exp}`,
    JSON.stringify(without('exp')).replace('{', `{"exp":${exp},`),
  ]),
  ['exp NaN', JSON.stringify(without('exp')).replace('{', '{"exp":NaN,')],
  ...[inSeconds(120), 1e12, String(inSeconds(-60)), null, {}, true].map((nbf): BadClaims => [
    `nbf ${typeof nbf === 'number' ? `${nbf > 1e11 ? 'far ' : ''}in the future` : JSON.stringify(nbf)}`,
    goodClaims({ nbf }),
  ]),
  ...[inSeconds(3600), String(inSeconds(-60)), null, {}].map((iat): BadClaims => [
    `iat ${typeof iat === 'number' ? 'in the future' : JSON.stringify(iat)}`,
    goodClaims({ iat }),
  ]),
  ['iat 1e999', JSON.stringify({ ...goodClaims(), iat: undefined }).replace('{', '{"iat":1e999,')],
  // Whom it names.
  ['no subject', without('user_id')],
  ...['', ' ', ' ada', 'ada ', true, 1.5, 2 ** 53, -1e300, [], ['ada'], {}, { toString: 'ada' }].map(
    (user_id): BadClaims => [`user_id ${JSON.stringify(user_id)}`, goodClaims({ user_id })],
  ),
  ['an empty user_id before a sub', goodClaims({ user_id: '', sub: 'ada' })],
  ...['', null, 0.1, false, ['ada']].map((sub): BadClaims => [
    `sub ${JSON.stringify(sub)}`,
    { ...goodClaims({ sub }), user_id: undefined },
  ]),
  ['a subject too long', goodClaims({ user_id: 'x'.repeat(257) })],
  ...[
    'ada\0',
    '\0',
    'ada\n',
    'ada\u0085',
    'ada\u200b',
    'a\u200dda',
    '\ufeffada',
    '\u202eada',
    'ada\u2028',
    'ada\u00ad',
    'ada\u{e0001}',
  ].map((user_id): BadClaims => [`user_id with an unseen character, ${visible(user_id)}`, goodClaims({ user_id })]),
  ...['\\ud800', '\\udc00', '\\udc00\\ud800', 'ada\\ud83d'].map((user_id): BadClaims => [
    `user_id with a lone surrogate, ${user_id}`,
    JSON.stringify(without('user_id')).replace('{', `{"user_id":"${user_id}",`),
  ]),
  // Names that stand twice: readers differ in which one they take.
  ['user_id twice, the good one last', raw('"user_id":"eve"')],
  ['user_id twice, the good one first', rawLast('"user_id":"eve"')],
  ['user_id twice, once escaped', rawLast('"user\\u005fid":"eve"')],
  ['exp twice', raw('"exp":1')],
  ['aud twice', raw('"aud":"other"')],
  ['a name twice further in', rawLast('"realm_access":{"roles":["a"],"roles":["b"]}')],
  // What is not an object of claims.
  ...[
    'null',
    '[]',
    '"text"',
    '1',
    '',
    ' ',
    '{',
    '{}x',
    "{'a':1}",
    '\ufeff{}',
    JSON.stringify(JSON.stringify(goodClaims())),
  ].map((claims): BadClaims => [`claims ${JSON.stringify(claims.slice(0, 20))}`, claims]),
  ['claims of five thousand brackets', '['.repeat(5000)],
  ['a token within the token', good],
];

/** The servers that a token may name. */
interface Servers {
  /** Publishes the keys that count. */
  readonly issued: Pick<Issuer, 'url' | 'keysUrl'>;
  /** Stands for every other address. */
  readonly foreign: Pick<Issuer, 'url' | 'keysUrl'>;
}

/** What is wrong with a request, and the header lines that it sends. */
type Attack = readonly [what: string, lines: string | ((servers: Servers) => string)];

/** Requests that are not let in: each is one change away from the good one, or a token that another system took. */
export const attacks: readonly Attack[] = [
  // No signature.
  ...['none', 'None', 'NONE', 'nOnE', 'none ', '', null, false, 0, ['none'], ['RS256'], { alg: 'RS256' }].map(
    (alg): Attack => [`alg ${JSON.stringify(alg)} without a signature`, bearer(unsigned(alg))],
  ),
  ['alg none with the signature of another', bearer(unsigned('none', goodSignature))],
  ['alg none with any text for a signature', bearer(unsigned('none', 'AAAA'))],
  ['no alg', bearer(own(goodClaims(), { typ: 'JWT', kid: 'key-1' }))],
  ['alg in lower case', bearer(own(goodClaims(), { ...rs256, alg: 'rs256' }))],
  ['alg with a space', bearer(own(goodClaims(), { ...rs256, alg: 'RS256 ' }))],
  ['alg in a list', bearer(own(goodClaims(), { ...rs256, alg: ['RS256'] }))],
  ['alg of PSS', bearer(own(goodClaims(), { ...rs256, alg: 'PS256' }))],
  ['alg of Ed25519', bearer(own(goodClaims(), { ...rs256, alg: 'EdDSA' }))],
  ['alg of a cipher', bearer(own(goodClaims(), { ...rs256, alg: 'RSA-OAEP', enc: 'A256GCM' }))],
  // The public key as a secret.
  ...(['HS256', 'HS384', 'HS512'] as const).flatMap((algorithm): Attack[] =>
    (
      [
        ['PEM', pem],
        ['trimmed PEM', pem.trim()],
        ['PEM with CRLF', pem.replaceAll('\n', '\r\n')],
        ['PEM without lines', pem.replaceAll('\n', '')],
        ['PKCS #1 PEM', pkcs1],
        ['DER', der],
        ['modulus', Buffer.from(String(rsa.publicKey.export({ format: 'jwk' }).n), 'base64url')],
        ['JWK', JSON.stringify(rsa.publicKey.export({ format: 'jwk' }))],
      ] as const
    ).map(([form, key]) => [
      `${algorithm} with the public key (${form}) as the secret`,
      bearer(withHs(algorithm, key)),
    ]),
  ),
  ...['', ' ', '\0', 'secret', 'key-1', 'undefined', 'null'].map((key): Attack => [
    `HS256 with the secret ${JSON.stringify(key)}`,
    bearer(withHs('HS256', key)),
  ]),
  // Signatures.
  ['the signature of a stranger', bearer(forged())],
  ['an empty signature', bearer(`${goodHeader}.${goodPayload}.`)],
  ['no signature at all', bearer(`${goodHeader}.${goodPayload}`)],
  ['one part', bearer(goodPayload)],
  ['four parts', bearer(`${good}.${goodSignature}`)],
  ['five parts, as an encrypted token has', bearer(`${goodHeader}.${goodSignature}.${goodPayload}.AAAA.AAAA`)],
  ['dots alone', bearer('..')],
  ['a signature of zeros', bearer(`${goodHeader}.${goodPayload}.${Buffer.alloc(256).toString('base64url')}`)],
  ['a signature of one byte', bearer(`${goodHeader}.${goodPayload}.AA`)],
  ['a signature cut short', bearer(good.slice(0, -4))],
  ['a signature made longer', bearer(`${good}AAAA`)],
  ['a signature with its first character changed', bearer(`${goodHeader}.${goodPayload}.${flip(goodSignature, 0)}`)],
  [
    'a signature with a character in the middle changed',
    bearer(`${goodHeader}.${goodPayload}.${flip(goodSignature, 99)}`),
  ],
  [
    'a signature spelled with other spare bits at its end',
    () => {
      const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.indexOf(
        goodSignature.at(-1) ?? '',
      );
      const other = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'[last ^ 1] ?? '';
      return bearer(`${good.slice(0, -1)}${other}`);
    },
  ],
  [
    'claims changed under the signature',
    bearer(`${goodHeader}.${encode(goodClaims({ user_id: 'eve' }))}.${goodSignature}`),
  ],
  ['a header changed under the signature', bearer(`${encode({ ...rs256, x: 1 })}.${goodPayload}.${goodSignature}`)],
  ['the signature of other claims', bearer(`${goodHeader}.${goodPayload}.${own({ sub: 'x' }).split('.')[2] ?? ''}`)],
  ['header and claims in each other’s place', bearer(`${goodPayload}.${goodHeader}.${goodSignature}`)],
  ...badClaims.map(([what, claims]): Attack => [what, bearer(own(claims))]),
  [
    'claims that are not UTF-8',
    bearer(signedBytes(Buffer.from(JSON.stringify(goodClaims({ user_id: 'ad?' })).replace('ad?', 'ad\xff'), 'latin1'))),
  ],
  [
    'claims with an overlong NUL',
    bearer(
      signedBytes(
        Buffer.from(JSON.stringify(goodClaims({ user_id: 'ada?' })).replace('ada?', 'ada\xc0\x80'), 'latin1'),
      ),
    ),
  ],
  ['claims in UTF-16', bearer(signedBytes(Buffer.from(JSON.stringify(goodClaims()), 'utf16le')))],
  [
    'claims deflated, with zip',
    bearer(signedBytes(deflateRawSync(JSON.stringify(goodClaims())), { ...rs256, zip: 'DEF' })),
  ],
  // Headers.
  ...['JWE', 'JOSE', 'logout+jwt', 'secevent+jwt', 'dpop+jwt', 'application/jwt ', '', 7, null, ['JWT'], {}].map(
    (typ): Attack => [`typ ${JSON.stringify(typ)}`, bearer(own(goodClaims(), { ...rs256, typ }))],
  ),
  ['cty JWT', bearer(own(goodClaims(), { ...rs256, cty: 'JWT' }))],
  ['cty JWT around a token', bearer(own(good, { ...rs256, cty: 'JWT' }))],
  ...[['exp'], ['b64'], ['made-up'], [], 'exp', null, [1]].map((crit): Attack => [
    `crit ${JSON.stringify(crit)}`,
    bearer(own(goodClaims(), { ...rs256, crit, b64: true })),
  ]),
  ['claims that are not encoded (b64 false)', bearer(own(goodClaims(), { ...rs256, b64: false }))],
  ['alg twice in the header', bearer(own(goodClaims(), '{"alg":"none","alg":"RS256","typ":"JWT","kid":"key-1"}'))],
  ['kid twice in the header', bearer(own(goodClaims(), '{"alg":"RS256","kid":"key-2","kid":"key-1"}'))],
  ['a header that is a list', bearer(own(goodClaims(), '["RS256"]'))],
  ['a header that is a number', bearer(own(goodClaims(), '1'))],
  ['a header that is null', bearer(own(goodClaims(), 'null'))],
  ['a header that is not JSON', bearer(own(goodClaims(), 'alg=RS256'))],
  ['a header that sets a prototype', bearer(own(goodClaims(), '{"__proto__":{"alg":"RS256","kid":"key-1"}}'))],
  // Which key.
  ...[
    '../../../../dev/null',
    '/proc/self/environ',
    'file:///etc/passwd',
    "key-1' OR '1'='1",
    "x' UNION SELECT 'AAAA'; --",
    '$(id)',
    '| cat /etc/passwd',
    'key-1\0',
    '\0',
    'key-1\n',
    'KEY-1',
    ' key-1',
    'ｋey-1',
    'ключ',
    '__proto__',
    'constructor',
    'toString',
    '',
    'k'.repeat(2000),
    null,
    1,
    true,
    ['key-1'],
    { kid: 'key-1' },
    placeholder,
  ].map((kid): Attack => [
    `kid ${JSON.stringify(kid).slice(0, 40)}, signed by a stranger`,
    ({ foreign }) => bearer(forged({ kid: kid === placeholder ? foreign.keysUrl : kid })),
  ]),
  ['a good signature with a kid that is not known', bearer(own(goodClaims(), { ...rs256, kid: 'key-2' }))],
  ['a good signature with a kid that is not a text', bearer(own(goodClaims(), { ...rs256, kid: ['key-1'] }))],
  [
    'an empty secret from a kid that names an empty file',
    bearer(makeToken('HS256', '', { header: { alg: 'HS256', kid: '../../../../dev/null' } })),
  ],
  ...(['jku', 'x5u', 'iss', 'jwks_uri', 'jwks_url', 'kid_url'] as const).map((name): Attack => [
    `${name} that names the stranger's keys`,
    ({ foreign }) => bearer(forged({ [name]: foreign.keysUrl })),
  ]),
  ['jku with another kid', ({ foreign }) => bearer(forged({ jku: foreign.keysUrl, kid: 'stranger' }))],
  ['jku without a kid', ({ foreign }) => bearer(forged({ jku: foreign.keysUrl, kid: undefined }))],
  [
    'jku that begins like the real address',
    ({ issued }) => bearer(forged({ jku: issued.keysUrl.replace('//', '//x@') })),
  ],
  ['jku on the real host, of another path', ({ issued }) => bearer(forged({ jku: `${issued.url}/uploads/keys.json` }))],
  [
    'jku with the address in a fragment',
    ({ issued, foreign }) => bearer(forged({ jku: `${foreign.keysUrl}#${issued.keysUrl}` })),
  ],
  ['jku of the machine itself', bearer(forged({ jku: lure('latest/meta-data') }))],
  ['the key in the header (jwk)', bearer(forged({ jwk: jwkOf(foreignKeys.publicKey, { kid: 'key-1' }) }))],
  [
    'a secret in the header (jwk)',
    bearer(makeToken('HS256', 'x', { header: { alg: 'HS256', jwk: { kty: 'oct', k: encode('x') } } })),
  ],
  [
    'a certificate in the header (x5c)',
    bearer(forged({ x5c: [foreignKeys.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] })),
  ],
  ['a thumbprint in the header (x5t)', bearer(forged({ x5t: 'AAAA', 'x5t#S256': 'AAAA' }))],
  [
    'an issuer of the stranger, with its keys',
    ({ foreign }) =>
      bearer(makeToken('RS256', foreignKeys.privateKey, { header: rs256, claims: goodClaims({ iss: foreign.url }) })),
  ],
  [
    'keys among the claims',
    ({ foreign }) =>
      bearer(
        makeToken('RS256', foreignKeys.privateKey, {
          header: rs256,
          claims: goodClaims({ jku: foreign.keysUrl, jwks_uri: foreign.keysUrl }),
        }),
      ),
  ],
  // How it is spelled and sent.
  [
    'padding',
    bearer(
      good
        .split('.')
        .map((part) => `${part}=`)
        .join('.'),
    ),
  ],
  ['padding at the end', bearer(`${good}=`)],
  ['padding by two', bearer(`${good}==`)],
  [
    'the alphabet of plain base64',
    bearer(`${goodHeader}.${goodPayload}.${Buffer.from(goodSignature, 'base64url').toString('base64')}`),
  ],
  [
    'a character that base64 skips',
    bearer(`${goodHeader}.${goodPayload}.${goodSignature.slice(0, 9)}~${goodSignature.slice(9)}`),
  ],
  [
    'hexadecimal',
    bearer(
      good
        .split('.')
        .map((part) => Buffer.from(part, 'base64url').toString('hex'))
        .join('.'),
    ),
  ],
  ['a space in the token', bearer(good.replace('.', '. '))],
  ['a tab in the token', bearer(good.replace('.', '.\t'))],
  ['a tab after the scheme', `Authorization: Bearer\t${good}`],
  ['a comma after the token', bearer(`${good},`)],
  ['a second token after a comma', bearer(`${forged()}, Bearer ${good}`)],
  ['a second token after a space', bearer(`${good} ${good}`)],
  ['a parameter after the token', bearer(`${good}; realm=x`)],
  ['quotes around the token', bearer(`"${good}"`)],
  ['two headers, the good one first', `${bearer(good)}\r\n${bearer(forged())}`],
  ['two headers, the good one last', `${bearer(forged())}\r\n${bearer(good)}`],
  ['two headers, both good', `${bearer(good)}\r\n${bearer(good)}`],
  ['no scheme', `Authorization: ${good}`],
  ['the scheme alone', 'Authorization: Bearer'],
  ['the scheme and a space', 'Authorization: Bearer '],
  ['the scheme twice', `Authorization: Bearer Bearer ${good}`],
  ['another scheme', `Authorization: Token ${good}`],
  ['the scheme of passwords', `Authorization: Basic ${Buffer.from(`ada:${good}`).toString('base64')}`],
  ['the scheme of bound tokens', `Authorization: DPoP ${good}`],
  ['a scheme that begins alike', `Authorization: Bearers ${good}`],
  ['a colon after the scheme', `Authorization: Bearer: ${good}`],
  ['the words null and undefined', bearer('null')],
  ['the word undefined', bearer('undefined')],
  ['an empty header', 'Authorization:'],
  ['no header', 'X-Other: x'],
  [
    'the token in a header of proxies',
    `Proxy-Authorization: Bearer ${good}\r\nX-Forwarded-Authorization: Bearer ${good}`,
  ],
  [
    'the token in headers of the trusting',
    `X-User-Id: ada\r\nX-Forwarded-User: ada\r\nX-Auth-Token: ${good}\r\nX-Access-Token: ${good}`,
  ],
  ['the token in a cookie', `Cookie: token=${good}; access_token=${good}; jwt=${good}; Authorization=Bearer ${good}`],
  ['a header name with an underscore', `Authorization_: Bearer ${good}`],
];

/** A text of visible characters that tells apart what cannot be seen. */
function visible(given: string): string {
  const shown = (each: string): string => (/[ -~]/.test(each) ? each : `U+${(each.codePointAt(0) ?? 0).toString(16)}`);
  return Array.from(given, shown).join('');
}

function signedBytes(claims: Uint8Array, header: Part = rs256): string {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${signature('RS256', rsa.privateKey, content)}`;
}
