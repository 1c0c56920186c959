import { createClient, type Client } from '@agent-workflow/client';
import { readFile } from 'node:fs/promises';
import { processEnv } from '@agent-workflow/kit/env';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { inSeconds, makeToken } from '../servers/tokens.ts';
import { openPage, violationsIn, type PageOptions } from './browser.ts';
import { button } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const secret = 's'.repeat(32);
const env = { JWT_SECRET_KEY: secret, JWT_ALGORITHM: 'HS256', HOST: '127.0.0.1' };
const access = {
  roles: { support: { is: 'operator' }, ops: { is: 'operator', reads: 'contents' }, root: { is: 'admin' } },
};
const service = servePages(test, 'chatting', env, { auth: 'jwt', access });

const tokenOf = (user: string, ...roles: string[]): string =>
  makeToken('HS256', secret, { claims: { user_id: user, roles, exp: inSeconds(600) } });
const clientOf = (user: string, ...roles: string[]): Client =>
  createClient({ url: service.url(), token: tokenOf(user, ...roles) });

const folder = processEnv()['SCREENSHOTS'];
const picture = async (page: Page, name: string): Promise<void> => {
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
};

async function signedIn(t: ExecutionContext, at: string, token: string, options: PageOptions = {}): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/${at}`, { expected: [/401/], ...options });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Bearer token').fill(token);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.waitFor({ state: 'detached' });
  return page;
}

/** Starts a run of a user, and waits for its end. */
async function run(user: string, thread_id: string, text: string): Promise<void> {
  const messages = [{ role: 'user' as const, content: text }];
  const { run_id } = await clientOf(user).runs.start({ messages, config: { thread_id } });
  await clientOf(user)
    .runs.wait(run_id)
    .catch(() => undefined);
}

const rows = (page: Page, name: RegExp) => page.getByRole('link', { name });

browserTest('an operator finds runs of everybody by owner and status, without contents', async (t) => {
  await run('ada', 'secret-kettle', 'a secret cabbage');
  await run('bob', 'toaster', 'fail');
  await run('bob', 'asks', 'ask');
  for (const colorScheme of ['light', 'dark'] as const) {
    const size = colorScheme === 'dark' ? 'phone' : 'desktop';
    const page = await signedIn(t, 'operators', tokenOf('sue', 'support'), { colorScheme, size });
    await rows(page, /ada, secret-kettle/).waitFor();
    t.is(await page.getByText('cabbage').count(), 0);
    t.is(await button(page, 'Export the audit').count(), 0);
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `operators-list-${colorScheme}`);
    await page.getByRole('searchbox', { name: 'Owner' }).fill('bob');
    await rows(page, /ada, /).waitFor({ state: 'detached' });
    await page.getByLabel('Status').selectOption('interrupted');
    await rows(page, /bob, asks/).waitFor();
    await rows(page, /bob, toaster/)
      .first()
      .waitFor({ state: 'detached' });
    await page.getByLabel('Status').selectOption('failed');
    await rows(page, /bob, toaster/)
      .first()
      .click();
    await page.getByRole('heading', { name: 'Run of bob' }).waitFor();
    await page.getByRole('treeitem').first().waitFor();
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `operators-run-${colorScheme}`);
  }
});

browserTest(
  'a failed run is retried and one under way stopped for a reason, and an admin saves who did it',
  async (t) => {
    await using gate = await openGate();
    await run('cleo', 'mixer', 'fail');
    const page = await signedIn(t, 'operators?user=cleo', tokenOf('zoe', 'root'));
    await rows(page, /cleo, mixer/).click();
    await button(page, 'Retry').click();
    const dialog = page.getByRole('dialog', { name: 'Retry this run?' });
    await dialog.getByLabel('Reason').fill('ticket 4711');
    t.deepEqual(await violationsIn(page), []);
    await picture(page, 'operators-reason-light');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Completed').first().waitFor();
    const config = { thread_id: 'slow', gate: gate.url };
    await clientOf('cleo').runs.start({ messages: [{ role: 'user', content: 'gate' }], config });
    await gate.visited(1);
    await page.goto(`${service.url()}/playground#/operators?user=cleo`);
    await rows(page, /cleo, slow/).click();
    await button(page, 'Stop').click();
    const stopping = page.getByRole('dialog', { name: 'Stop this run?' });
    await stopping.getByLabel('Reason').fill('ticket 4712');
    await stopping.getByRole('button', { name: 'Stop the run' }).click();
    await page.getByText('Stopped').first().waitFor();
    gate.open();
    await page.goto(`${service.url()}/playground#/operators`);
    await button(page, 'Export the audit').click();
    const download = page.waitForEvent('download');
    await page.getByRole('dialog', { name: 'Export the audit' }).getByRole('button', { name: 'Export' }).click();
    const saved = await readFile(await (await download).path(), 'utf8');
    t.regex(saved, /"action":"stop".*ticket 4712/);
    t.regex(saved, /"action":"retry".*ticket 4711/);
  },
);

browserTest('an operator finds threads of everybody by owner and status, and reads no contents of them', async (t) => {
  await run('dan', 'letters', 'a secret parsnip');
  await run('eve', 'lists', 'fail');
  for (const colorScheme of ['light', 'dark'] as const) {
    const size = colorScheme === 'dark' ? 'phone' : 'desktop';
    const page = await signedIn(t, 'operators', tokenOf('sue', 'support'), { colorScheme, size });
    await page.getByRole('link', { name: 'Threads' }).last().click();
    await rows(page, /dan, letters/).waitFor();
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `operators-threads-${colorScheme}`);
    await page.getByLabel('Status').selectOption('failed');
    await rows(page, /dan, letters/).waitFor({ state: 'detached' });
    await rows(page, /eve, lists/).waitFor();
    await page.getByLabel('Status').selectOption('');
    await page.getByRole('searchbox', { name: 'Owner' }).fill('dan');
    await rows(page, /eve, lists/).waitFor({ state: 'detached' });
    await rows(page, /dan, letters/).click();
    await page.getByRole('heading', { name: 'Thread of dan' }).waitFor();
    await page
      .getByRole('region', { name: 'Runs' })
      .getByRole('link', { name: /dan, letters/ })
      .waitFor();
    await page.getByText('Contents are masked').waitFor();
    t.is(await button(page, 'Read the messages').count(), 0);
    t.is(await page.getByText('parsnip').count(), 0);
    t.deepEqual(await violationsIn(page), []);
    await picture(page, `operators-thread-${colorScheme}`);
  }
});

browserTest(
  'an operator whose role reads contents reads messages from a run for a reason, and the audit has it',
  async (t) => {
    await run('finn', 'diary', 'a secret turnip');
    const page = await signedIn(t, 'operators?user=finn', tokenOf('olga', 'ops'));
    await rows(page, /finn, diary/).click();
    await page.getByRole('article', { name: 'Run' }).getByRole('link', { name: 'Thread' }).click();
    await button(page, 'Read the messages').click();
    const dialog = page.getByRole('dialog', { name: 'Read the messages?' });
    const auditOf = async () => {
      const lines = await clientOf('zoe', 'root').admin.exportAudit();
      return lines.filter(({ user_id: user, thread_id: thread }) => user === 'olga' && thread === 'diary');
    };
    t.is(await page.getByText('turnip').count(), 0);
    t.deepEqual(await auditOf(), []);
    await dialog.getByLabel('Reason').fill('ticket 4713');
    t.deepEqual(await violationsIn(page), []);
    await dialog.getByRole('button', { name: 'Read' }).click();
    const messages = page.getByRole('region', { name: 'Messages' });
    await messages.getByText('a secret turnip').first().waitFor();
    t.is(await messages.getByRole('button', { name: 'Edit and fork' }).count(), 0);
    t.deepEqual(await violationsIn(page), []);
    await picture(page, 'operators-messages-light');
    const [line, ...more] = await auditOf();
    t.like(line, { operation: 'listMessagesOfOthers', owner_id: 'finn', reason: 'ticket 4713' });
    t.deepEqual(more, []);
  },
);

browserTest('runs of everybody are filtered as one’s own are, but by no text that is masked', async (t) => {
  await run('gus', 'fast', 'hello');
  const page = await signedIn(t, 'operators?user=gus', tokenOf('sue', 'support'));
  await rows(page, /gus, fast/).waitFor();
  await page.locator('summary').filter({ hasText: 'Filter' }).click();
  const form = page.getByRole('form', { name: 'More filters' });
  t.is(await form.getByLabel('Error').count(), 0);
  await form.getByLabel('Took at least').fill('3600');
  await form.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('heading', { name: 'No run is as you ask' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('button', { name: /took .* or longer/ }).click();
  await rows(page, /gus, fast/).waitFor();
});

browserTest('who has no such role has no such view', async (t) => {
  const page = await signedIn(t, 'operators', tokenOf('ada'));
  await page.getByRole('heading', { name: 'This is for operators' }).waitFor();
  t.is(await page.getByRole('link', { name: 'Operators' }).count(), 0);
  t.deepEqual(await violationsIn(page), []);
});
