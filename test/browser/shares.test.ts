import { createClient, type Client, type Share } from '@agent-workflow/client';
import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openPage, violationsIn, type PageOptions } from './browser.ts';
import { button, messages, saw, send } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const secret = 's'.repeat(32);
const env = { JWT_SECRET_KEY: secret, JWT_ALGORITHM: 'HS256', HOST: '127.0.0.1' };
const access = { roles: { support: { is: 'user' } } };
const service = servePages(test, 'chatting', env, { auth: 'jwt', access });
const open = servePages(test, 'chatting', { HOST: '127.0.0.1' });

const tokenOf = (user: string, ...roles: string[]): string =>
  makeToken('HS256', secret, { claims: { user_id: user, roles, exp: inSeconds(600) } });
const clientOf = (user: string, ...roles: string[]): Client =>
  createClient({ url: service.url(), token: tokenOf(user, ...roles) });
const ada = (): Client => clientOf('ada');

const folder = processEnv()['SCREENSHOTS'];
const picture = async (page: Page, name: string): Promise<void> => {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
};

async function signedIn(t: ExecutionContext, at: string, token: string, options: PageOptions = {}): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/${at}`, { expected: [/401/, /404/], ...options });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Bearer token').fill(token);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  return page;
}

let made = 0;

/** A thread of ada's with one turn. */
async function makeThread(text = 'hello'): Promise<string> {
  const thread_id = `kettle-${String((made += 1))}`;
  const config = { thread_id, thread_name: `The broken kettle ${String(made)}` };
  await ada().invoke({ messages: [{ role: 'user', content: text }], config });
  return thread_id;
}

const share = (thread: string, rights: Share['rights'], to: Share['to'] = { user: 'bob' }): Promise<Share> =>
  ada().shares.create(thread, { to, rights });

browserTest('an owner shares a chat with a user and revokes the share, in both themes', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const thread = await makeThread();
    const size = colorScheme === 'dark' ? 'phone' : 'desktop';
    const page = await signedIn(t, `chat/${thread}`, tokenOf('ada'), { colorScheme, size });
    await button(page, 'Share this chat').click();
    const dialog = page.getByRole('dialog', { name: 'Share this thread' });
    await dialog.getByText('Nobody yet').waitFor();
    await dialog.getByLabel('Id of the user').fill('bob');
    await dialog.getByLabel('Send messages').check();
    await picture(page, `share-form-${colorScheme}`);
    await dialog.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog.getByText('reads and writes').waitFor();
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `share-dialog-${colorScheme}`);
    const { shares } = await clientOf('bob').shares.withMe();
    t.true(shares.some(({ thread_id: id }) => id === thread));
    await button(page, 'Revoke the share with bob').click();
    await dialog.getByText('Nobody yet').waitFor();
    t.false((await clientOf('bob').shares.withMe()).shares.some(({ thread_id: id }) => id === thread));
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
});

browserTest(
  'who a thread is shared with for reading finds it, reads it with its picture, and cannot write',
  async (t) => {
    const thread = await makeThread();
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const { file_id } = await ada().files.upload(new File([png], 'kettle.png', { type: 'image/png' }));
    const content = [{ type: 'image', file_id, filename: 'kettle.png' }];
    await ada().threads.addMessages(thread, [{ role: 'user', content }]);
    const { share_id: id } = await share(thread, ['read'], { role: 'support' });
    for (const colorScheme of ['light', 'dark'] as const) {
      const size = colorScheme === 'dark' ? 'phone' : 'desktop';
      const page = await signedIn(t, 'shared', tokenOf('sue', 'support'), { colorScheme, size });
      const row = page.getByRole('link', { name: /The broken kettle.*by ada/ });
      await row.first().waitFor();
      t.deepEqual(await violationsIn(page), []);
      await picture(page, `shared-list-${colorScheme}`);
      await row.first().click();
      t.true(page.url().includes(encodeURIComponent(id)));
      await saw(page, 'You said hello.');
      await page.getByText('Shared by ada').waitFor();
      await page.getByText('You read it', { exact: true }).waitFor();
      await messages(page).getByRole('img', { name: 'kettle.png' }).waitFor();
      t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).count(), 0);
      for (const name of ['Fork from here', 'Edit and fork', 'Share this chat'])
        t.is(await button(page, name).count(), 0);
      t.deepEqual(await violationsIn(page), []);
      await picture(page, `shared-read-${colorScheme}`);
    }
  },
);

browserTest('who may write sends a message as a run of the owner, and both see who has sent it', async (t) => {
  const thread = await makeThread();
  const { share_id: id } = await share(thread, ['read', 'write']);
  const page = await signedIn(t, `shared/${id}`, tokenOf('bob'));
  await page.getByText('You read it, and may write').waitFor();
  await send(page, 'a message of bob');
  await saw(page, 'You said a message of bob.');
  t.is(await messages(page).getByText('a message of bob', { exact: true }).count(), 1);
  t.true(page.url().includes(`/shared/${encodeURIComponent(id)}`));
  t.deepEqual(await violationsIn(page), []);
  await picture(page, 'shared-write-light');
  const owner = await signedIn(t, `chat/${thread}`, tokenOf('ada'));
  await saw(owner, 'You said a message of bob.');
  await owner
    .getByRole('article', { name: /^bob, / })
    .getByText('a message of bob')
    .waitFor();
  await picture(owner, 'owner-sees-sender-light');
});

browserTest('what a run says is seen while it comes, and the page says so when the share is revoked', async (t) => {
  await using gate = await openGate();
  const thread = await makeThread();
  const { share_id: id } = await share(thread, ['read', 'write']);
  await ada().runs.start({
    messages: [{ role: 'user', content: 'gate' }],
    config: { thread_id: thread, gate: gate.url },
  });
  const page = await signedIn(t, `shared/${id}`, tokenOf('bob'));
  await saw(page, 'The first half,');
  await ada().shares.delete(thread, id);
  await page.getByRole('heading', { name: 'ada no longer shares this thread with you' }).waitFor({ timeout: 15_000 });
  t.is(await page.getByText('The first half,').count(), 0);
  t.is(await page.getByRole('alert').count(), 0);
  t.deepEqual(await violationsIn(page), []);
  await picture(page, 'shared-revoked-light');
  gate.open();
  await page.goto(`${service.url()}/playground#/shared/nothing`);
  await page.getByRole('heading', { name: 'This is not shared with you' }).waitFor();
});

browserTest(
  'who may answer answers what the agent has put to the owner, and who may only read sees for whom it waits',
  async (t) => {
    const thread = await makeThread('question {"question": "Pay?", "options": ["Yes", "No"]}');
    const [answering, reading] = [
      await share(thread, ['read', 'answer']),
      await share(thread, ['read'], { user: 'dan' }),
    ];
    const reader = await signedIn(t, `shared/${reading.share_id}`, tokenOf('dan'));
    await reader.getByText('Waits for an answer of ada, or of others').waitFor();
    t.is(await button(reader, 'Yes').count(), 0);
    const page = await signedIn(t, `shared/${answering.share_id}`, tokenOf('bob'));
    await page.getByText('You read it, and may answer').waitFor();
    t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).count(), 0);
    t.deepEqual(await violationsIn(page), []);
    await picture(page, 'shared-answer-light');
    await button(page, 'Yes').click();
    await saw(page, 'The answer: "Yes"');
    await reader.getByText('The answer: "Yes"').waitFor();
  },
);

browserTest('where nobody signs in nothing is shared', async (t) => {
  const { page } = await openPage(t, `${open.url()}/playground#/chat`);
  await send(page, 'hello');
  await saw(page, 'You said hello.');
  t.is(await button(page, 'Share this chat').count(), 0);
  t.is(await page.getByRole('link', { name: 'Shared' }).count(), 0);
});
