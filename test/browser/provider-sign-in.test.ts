import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openEmbedded } from '../servers/embedded.ts';
import { openOidcProvider, type OidcProvider } from '../servers/oidc-provider.ts';
import { until } from '../until.ts';
import { openPage, violationsIn, type PageOptions } from './browser.ts';
import { browserTest } from './suite.ts';

const client = 'playground';
const audience = 'agents';

interface Served {
  readonly url: string;
  readonly provider: OidcProvider;
}

async function serve(t: ExecutionContext, tokenSeconds = 600): Promise<Served> {
  const provider = await openOidcProvider({ audience, clientId: client, tokenSeconds });
  t.teardown(() => provider[Symbol.asyncDispose]());
  const issuers = [{ issuer: provider.issuer, audience, algorithms: ['ES256'], owner_prefix: 'team' }];
  const env = {
    ...{ HOST: '127.0.0.1', JWT_ISSUERS: JSON.stringify(issuers) },
    ...{ PLAYGROUND_OIDC_ISSUER: provider.issuer, PLAYGROUND_OIDC_CLIENT_ID: client },
  };
  const service = await openEmbedded('chatting', env, { auth: 'jwt' });
  t.teardown(() => service[Symbol.asyncDispose]());
  return { url: service.url, provider };
}

/** The page asks before somebody is signed in, and talks to the provider. */
const expected = [/401/, /request to http:\/\/127\.0\.0\.1:\d+$/];

const open = async (t: ExecutionContext, { url }: Served, options: PageOptions = {}, path = '#/chat'): Promise<Page> =>
  (await openPage(t, `${url}/playground${path}`, { expected, ...options })).page;

const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Sign in' });
const leave = (page: Page): Promise<void> =>
  dialogOf(page)
    .getByRole('button', { name: /^Sign in with 127/ })
    .click();

/** The page before the sign-in has the same views behind its dialog, and a navigation there ends the sign-in. */
const signedIn = (page: Page) => page.waitForFunction(() => sessionStorage.getItem('token') !== null);

async function hello(t: ExecutionContext, page: Page): Promise<void> {
  await signedIn(page);
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill('hello');
  await box.press('Control+Enter');
  await page.getByRole('region', { name: 'Messages' }).getByText('You said hello.').waitFor();
  t.is(await dialogOf(page).count(), 0);
}

const keptOf = (page: Page): Promise<Readonly<Record<string, string>>> =>
  page.evaluate(() => Object.fromEntries(Object.entries(sessionStorage)) as Record<string, string>);

browserTest(
  'a reader signs in at the provider, comes back to where it was, and talks; nothing of it stays in the address',
  async (t) => {
    const served = await serve(t);
    const page = await open(t, served, {}, '#/runs?status=failed');
    await leave(page);
    await signedIn(page);
    await page.getByRole('main', { name: 'Runs' }).waitFor();
    await until(() => page.url() === `${served.url}/playground#/runs?status=failed`);
    await page.goto(`${served.url}/playground#/chat`);
    await hello(t, page);
    t.deepEqual(
      Object.keys(await keptOf(page)).filter((key) => key.includes('sign-in')),
      [],
    );
    t.is((await keptOf(page))['token'], served.provider.tokens[0]);
    const kept = await page.evaluate(() => Object.keys(localStorage));
    t.false(kept.some((key) => /token|login/.test(key)));
    t.deepEqual(await page.evaluate(() => document.referrer), '');
  },
);

browserTest('the dialog is read, reached by the keyboard and seen in both themes and both widths', async (t) => {
  const served = await serve(t);
  for (const options of [
    { size: 'desktop', colorScheme: 'light' },
    { size: 'phone', colorScheme: 'dark' },
  ] as const) {
    const page = await open(t, served, options);
    await dialogOf(page)
      .getByRole('button', { name: /^Sign in with/ })
      .waitFor();
    await dialogOf(page).getByText('Sign in with a token').click();
    t.deepEqual(await violationsIn(page), []);
    await page.keyboard.press('Tab');
    await dialogOf(page)
      .getByRole('button', { name: /^Sign in with/ })
      .focus();
    await page.keyboard.press('Enter');
    await hello(t, page);
  }
});

browserTest(
  'a token is renewed before it ends, by a refresh token that is used once, and the session goes on',
  async (t) => {
    const served = await serve(t, 9);
    const page = await open(t, served);
    await leave(page);
    await hello(t, page);
    await until(() => served.provider.tokens.length >= 3);
    await until(async () => (await keptOf(page))['token'] === served.provider.tokens.at(-1));
    t.is(await dialogOf(page).count(), 0);
    t.is(await page.getByText('You said hello.').count(), 1, 'the messages stay');
    await page.reload();
    await page.getByText('You said hello.').waitFor();
  },
);

browserTest(
  'a provider that renews nothing any more asks the reader to sign in again; one that is away for a moment does not',
  async (t) => {
    const served = await serve(t, 9);
    const page = await open(t, served, { expected: [...expected, /503/, /400/] });
    await leave(page);
    await hello(t, page);
    const { provider } = served;
    provider.misbehaviour.renewal = 'away';
    await until(() => provider.requests.filter((request) => request === 'POST /token').length >= 2);
    delete provider.misbehaviour.renewal;
    await until(() => provider.tokens.length >= 2);
    provider.misbehaviour.renewal = 'refused';
    await dialogOf(page).waitFor();
    delete provider.misbehaviour.renewal;
    await leave(page);
    await page.getByText('You said hello.').waitFor();
  },
);

browserTest('who signs out is signed out at the provider, too', async (t) => {
  const served = await serve(t);
  const page = await open(t, served);
  await leave(page);
  await hello(t, page);
  await page.getByRole('button', { name: 'Change token' }).click();
  await dialogOf(page).getByRole('button', { name: 'Sign out' }).click();
  await until(() => served.provider.requests.includes('GET /end'));
  t.true(served.provider.requests.includes('POST /revoke'));
  await dialogOf(page)
    .getByRole('button', { name: /^Sign in with/ })
    .waitFor();
  const kept = await keptOf(page);
  t.false('token' in kept || 'login' in kept);
});

for (const [what, misbehaviour, sentence] of [
  ['with the state of another tab', { state: 'another' }, /state/],
  ['of another issuer', { iss: 'https://other.test' }, /iss/],
  ['without the issuer that it announces', { iss: null }, /iss/],
  ['with the nonce of another sign-in', { nonce: 'another' }, /nonce/],
  ['that refuses', { error: 'access_denied' }, /The provider has refused: access_denied\./],
] as const)
  browserTest(`an answer ${what} signs nobody in, and says so`, async (t) => {
    const served = await serve(t);
    Object.assign(served.provider.misbehaviour, misbehaviour);
    const page = await open(t, served);
    await leave(page);
    await dialogOf(page).getByText('You are not signed in.').waitFor();
    t.regex((await dialogOf(page).textContent()) ?? '', sentence);
    t.false('token' in (await keptOf(page)));
    t.is(page.url(), `${served.url}/playground`);
    await until(
      async () =>
        (await dialogOf(page)
          .getByRole('button', { name: /^Sign in with/ })
          .count()) === 1,
    );
  });

browserTest('an address with a code that somebody else has sent signs nobody in', async (t) => {
  const served = await serve(t);
  const page = await open(
    t,
    served,
    {},
    `?code=stolen&state=x&iss=${encodeURIComponent(served.provider.issuer)}#/chat`,
  );
  await dialogOf(page).getByText('This sign-in was not begun in this tab.').waitFor();
  t.false(served.provider.requests.includes('POST /token'));
  t.false('token' in (await keptOf(page)));
});

test('the page may call the provider, and no other origin', async (t) => {
  const served = await serve(t);
  const policyAt = async (url: string): Promise<string> =>
    (await fetch(`${url}/playground`)).headers.get('content-security-policy') ?? '';
  t.true((await policyAt(served.url)).includes(`connect-src 'self' ${served.provider.issuer}; `));
  t.like(await (await fetch(`${served.url}/playground/sign-in.json`)).json(), {
    ...{ issuer: served.provider.issuer, client_id: client, scopes: 'openid' },
  });
  await using other = await openEmbedded('chatting', { HOST: '127.0.0.1' });
  t.true((await policyAt(other.url)).includes("connect-src 'self'; "));
  t.deepEqual(await (await fetch(`${other.url}/playground/sign-in.json`)).json(), {});
});

for (const [what, env, message] of [
  ['without a client', { PLAYGROUND_OIDC_ISSUER: 'https://login.test' }, /must be set together/],
  ['without TLS', { PLAYGROUND_OIDC_ISSUER: 'http://login.test', PLAYGROUND_OIDC_CLIENT_ID: 'p' }, /https/],
  [
    'without openid',
    { PLAYGROUND_OIDC_ISSUER: 'https://login.test', PLAYGROUND_OIDC_CLIENT_ID: 'p', PLAYGROUND_OIDC_SCOPES: 'profile' },
    /openid/,
  ],
] as const)
  test(`a sign-in ${what} stops the start`, async (t) => {
    await t.throwsAsync(openEmbedded('chatting', { HOST: '127.0.0.1', ...env }), { message });
  });
