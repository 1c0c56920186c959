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
const access = { roles: { support: { is: 'operator' }, root: { is: 'admin' } } };
const service = servePages(test, 'chatting', env, { auth: 'jwt', access });

const tokenOf = (user: string, ...roles: string[]): string =>
  makeToken('HS256', secret, { claims: { user_id: user, roles, exp: inSeconds(600) } });
const clientOf = (user: string): Client => createClient({ url: service.url(), token: tokenOf(user) });

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

browserTest('who has no such role has no such view', async (t) => {
  const page = await signedIn(t, 'operators', tokenOf('ada'));
  await page.getByRole('heading', { name: 'This is for operators' }).waitFor();
  t.is(await page.getByRole('link', { name: 'Operators' }).count(), 0);
  t.deepEqual(await violationsIn(page), []);
});
