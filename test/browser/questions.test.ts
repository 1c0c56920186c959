import { createClient, type Client } from '@agent-workflow/client';
import { processEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import type { Page } from 'playwright-core';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const secret = 's'.repeat(32);
const env = { JWT_SECRET_KEY: secret, JWT_ALGORITHM: 'HS256', HOST: '127.0.0.1' };
const access = { roles: { manager: { is: 'approver' }, auditor: { is: 'approver' } } };
const service = servePages(test, 'asking-others', env, { auth: 'jwt', access });

const tokenOf = (user: string, ...roles: string[]): string =>
  makeToken('HS256', secret, { claims: { user_id: user, roles, exp: inSeconds(600) } });
const clientOf = (user: string, ...roles: string[]): Client =>
  createClient({ url: service.url(), token: tokenOf(user, ...roles) });

const hours = 3_600_000;

/** Has a customer ask for what managers decide. */
const refund = (threadId: string, options: object): Promise<unknown> =>
  clientOf('ada').invoke({
    messages: [{ role: 'user', content: JSON.stringify({ to: ['manager'], ...options }) }],
    config: { thread_id: threadId, thread_name: 'The broken kettle' },
  });

const folder = processEnv()['SCREENSHOTS'];
const picture = async (page: Page, name: string): Promise<void> => {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
};

async function signedIn(
  t: Parameters<typeof openPage>[0],
  at: string,
  token: string,
  options: Parameters<typeof openPage>[2] = {},
): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/${at}`, { expected: [/401/], ...options });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Bearer token').fill(token);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  return page;
}

browserTest('the customer sees for whom the chat waits, and has nothing to answer with', async (t) => {
  await refund('kettle', { notOwner: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await signedIn(t, 'inbox', tokenOf('ada'), { colorScheme });
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await page.goto(`${service.url()}/playground#/chat/kettle`);
    await page.getByText('Waits for an answer of manager.').waitFor();
    t.is(await page.getByRole('button', { name: 'Approve' }).count(), 0);
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `customer-${colorScheme}`);
  }
});

browserTest(
  'a chat that was opened before the sign-in is read after it, and goes on by itself when others have answered',
  async (t) => {
    const boris = clientOf('boris', 'manager');
    for (const [size, colorScheme] of [
      ['desktop', 'light'],
      ['phone', 'dark'],
    ] as const) {
      const thread = `blender-${size}`;
      await refund(thread, { notOwner: true });
      const page = await signedIn(t, `chat/${thread}`, tokenOf('ada'), { size, colorScheme });
      await page.getByText('Waits for an answer of manager.').waitFor();
      await page.getByText('Waits for others').waitFor();
      t.is(await page.getByText(/bearer token is needed|waits for you/i).count(), 0);
      t.is(await page.getByRole('button', { name: 'Approve' }).count(), 0);
      await picture(page, `chat-waits-${size}-${colorScheme}`);
      const { questions } = await boris.questions.list();
      const asked = questions.find(({ thread_id: id }) => id === thread);
      await boris.questions.answer(asked?.question_id ?? '', true);
      await page.getByText('answer true by boris (v1)').waitFor();
      await page.getByText('Waits for an answer of manager.').waitFor({ state: 'detached' });
      t.deepEqual(await violationsIn(page), []);
      await picture(page, `chat-went-on-${size}-${colorScheme}`);
    }
  },
);

browserTest('a manager finds the question in the inbox and approves it by the keyboard', async (t) => {
  await refund('toaster', { notOwner: true, deadline: 9 * hours, default: false });
  const page = await signedIn(t, 'inbox', tokenOf('boris', 'manager'));
  await page
    .getByRole('link', { name: /Pay\?.*9 h|Pay\?/ })
    .first()
    .click();
  const pane = page.getByRole('article', { name: 'Question' });
  await pane.getByText('for ada').waitFor();
  t.is(await pane.getByRole('link', { name: 'Open in chat' }).count(), 0);
  t.deepEqual(await violationsIn(page), []);
  await picture(page, 'manager-desktop');
  await page.keyboard.press('a');
  await page.keyboard.press('Control+Enter');
  await pane.waitFor({ state: 'detached' });
  const lastOf = async (): Promise<string> =>
    JSON.stringify((await clientOf('ada').threads.messages('toaster')).messages.at(-1));
  let text = await lastOf();
  for (let tries = 0; tries < 200 && !text.includes('answer'); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    text = await lastOf();
  }
  t.regex(text, /answer true by boris/);
});

browserTest('the rail counts what the reader can answer, and no thread that waits for others', async (t) => {
  const toAuditors = { to: ['auditor'], notOwner: true };
  await refund('drill', toAuditors);
  await refund('saw', toAuditors);
  await clientOf('emil').invoke({ messages: [{ role: 'user', content: JSON.stringify(toAuditors) }] });
  const auditor = await signedIn(t, 'chat', tokenOf('emil', 'auditor'));
  await auditor.getByRole('link', { name: 'Inbox 2 waiting' }).waitFor();
  t.deepEqual(await violationsIn(auditor), []);
});

browserTest('of a quorum the inbox counts the answers, also on a phone and in the dark', async (t) => {
  await refund('oven', { quorum: 2 });
  const page = await signedIn(t, 'inbox', tokenOf('clara', 'manager'), { size: 'phone', colorScheme: 'dark' });
  await page.getByRole('link', { name: /0 of 2 answers/ }).waitFor();
  await picture(page, 'inbox-phone-dark');
  await page.getByRole('link', { name: /0 of 2 answers/ }).click();
  const pane = page.getByRole('article', { name: 'Question' });
  await pane.getByText('0 of 2 answers').waitFor();
  t.deepEqual(await violationsIn(page), []);
  await picture(page, 'manager-phone-dark');
  await pane.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('status', { name: 'Notices' }).getByText('1 of 2 answers').waitFor();
  const other = await signedIn(t, 'inbox', tokenOf('dora', 'manager'));
  await other.getByRole('link', { name: /1 of 2 answers/ }).waitFor();
  await picture(other, 'inbox-desktop');
});
