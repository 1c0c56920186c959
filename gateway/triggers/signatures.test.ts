import test from 'ava';
import { eventHash, isRecent, isSigned, newSecret, readClaim, secretFault, type TriggerFormat } from './signatures.ts';

/** A published example: headers, body and secret of its sender. */
interface Published {
  readonly format: TriggerFormat;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const published: Readonly<Record<string, Published>> = {
  // docs.github.com, "Validating webhook deliveries", "Testing the webhook payload validation".
  GitHub: {
    format: 'github',
    secret: "It's a Secret to Everybody",
    headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
    body: 'Hello, World!',
  },
  // docs.slack.dev, "Verifying requests from Slack".
  Slack: {
    format: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      'x-slack-request-timestamp': '1531420618',
    },
    body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  },
  // The specification of Standard Webhooks, and the tests of its libraries.
  'Standard Webhooks': {
    format: 'standard',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
  },
};

const claimOf = ({ format, headers }: Published) => readClaim(format, (name) => headers[name]);

for (const [sender, example] of Object.entries(published)) {
  const { format, secret, body } = example;
  const signed = (text: string, secrets: readonly string[]): boolean => {
    const claim = claimOf(example);
    return claim !== undefined && isSigned(format, claim, { body: Buffer.from(text), secrets });
  };

  test(`what ${sender} publishes as an example is signed, and nothing that differs is`, (t) => {
    t.true(signed(body, [secret]));
    t.true(signed(body, [newSecret(format, Buffer.alloc(32)), secret]));
    t.false(signed(`${body} `, [secret]));
    t.false(signed(body.replace(/.$/, '.'), [secret]));
    t.false(signed('', [secret]));
    t.false(signed(body, [newSecret(format, Buffer.alloc(32))]));
    t.false(signed(body, []));
  });

  test(`${sender}: a signature that is cut, longer, of another case, of another form or absent is none`, (t) => {
    for (const name of Object.keys(example.headers)) {
      const given = example.headers[name] ?? '';
      for (const other of [given.slice(0, -1), `${given}00`, `v9=${given}`, '', 'sha1=00', `${given}\0`]) {
        const changed = { ...example, headers: { ...example.headers, [name]: other } };
        const claim = claimOf(changed);
        t.false(claim !== undefined && isSigned(format, claim, { body: Buffer.from(body), secrets: [secret] }), other);
      }
      const { [name]: _, ...rest } = example.headers;
      t.is(claimOf({ ...example, headers: rest }), undefined);
    }
  });
}

test('a time counts for five minutes, before and after, and a form without one has no such bound', (t) => {
  for (const example of [published['Slack'], published['Standard Webhooks']]) {
    const claim = example && claimOf(example);
    const at = (claim?.timestamp ?? 0) * 1000;
    t.true(claim && isRecent(claim, at + 300_000));
    t.true(claim && isRecent(claim, at - 300_000));
    t.false(claim && isRecent(claim, at + 301_000));
    t.false(claim && isRecent(claim, at - 301_000));
  }
  const github = published['GitHub'] && claimOf(published['GitHub']);
  t.true(github && isRecent(github, Date.now()));
});

test('of several signatures of one request one has to be right', (t) => {
  const example = published['Standard Webhooks'];
  if (!example) return t.fail();
  const signature = `v1a,AAAA v1,${'A'.repeat(43)}= ${example.headers['webhook-signature'] ?? ''}`;
  const claim = claimOf({ ...example, headers: { ...example.headers, 'webhook-signature': signature } });
  t.true(claim && isSigned('standard', claim, { body: Buffer.from(example.body), secrets: [example.secret] }));
  const many = Array.from({ length: 20 }, () => `v1,${'A'.repeat(43)}=`).join(' ');
  const late = { ...example.headers, 'webhook-signature': `${many} ${example.headers['webhook-signature'] ?? ''}` };
  const unread = claimOf({ ...example, headers: late });
  t.false(unread && isSigned('standard', unread, { body: Buffer.from(example.body), secrets: [example.secret] }));
});

test('an event is known again by its id and body, whatever the time that was signed', (t) => {
  const body = Buffer.from('{}');
  const claim = { before: '', signatures: [], id: 'msg_1' };
  const hash = eventHash('t1', claim, body);
  t.is(eventHash('t1', { ...claim, timestamp: 5, before: 'other' }, body), hash);
  t.not(eventHash('t2', claim, body), hash);
  t.not(eventHash('t1', { ...claim, id: 'msg_2' }, body), hash);
  t.not(eventHash('t1', claim, Buffer.from('{} ')), hash);
});

test('secrets that are made are secrets of their form, and short or strange ones are not', (t) => {
  for (const format of ['standard', 'github', 'slack'] as const) {
    t.is(secretFault(format, newSecret(format, Buffer.alloc(32, 7))), undefined);
    for (const bad of ['', 'short', 'x'.repeat(257), 'ä'.repeat(32)]) t.truthy(secretFault(format, bad), bad);
  }
  t.truthy(secretFault('standard', 'whsec_not base64 at all!!!!!!!!!!!!!!!!!'));
  t.is(secretFault('standard', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), undefined);
});
