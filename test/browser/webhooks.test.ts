import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient, type Client } from '@agent-workflow/client';
import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'obedient', { WEBHOOK_NETWORKS: '127.0.0.0/8' });

const clientOf = (): Client => createClient({ url: service.url() });
const open = (t: Parameters<typeof openPage>[0], hash = '', options: Parameters<typeof openPage>[2] = {}) =>
  openPage(t, `${service.url()}/playground#/webhooks${hash}`, options);

/** An address that answers with the status of the moment, and how often it was asked. */
async function receiver(t: Parameters<typeof openPage>[0], status: number) {
  const state = { status, asked: 0 };
  const server = createServer((request, response) => {
    state.asked++;
    request.resume();
    response.writeHead(state.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { state, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook` };
}

browserTest('a webhook is added, renamed, given a new secret and deleted', async (t) => {
  const { url } = await receiver(t, 204);
  const { page } = await open(t);
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('button', { name: 'Add a webhook' }).click();
  const form = page.getByRole('dialog', { name: 'New webhook' });
  await form.getByRole('textbox', { name: /^Address/ }).fill(url);
  await form.getByRole('textbox', { name: 'Name' }).fill('The shop');
  await form.getByRole('checkbox', { name: 'ended with a result' }).uncheck();
  t.deepEqual(await violationsIn(page), []);
  await form.getByRole('button', { name: 'Add the webhook' }).click();
  await page.getByRole('heading', { name: 'The shop', level: 1 }).waitFor();
  const [made] = (await clientOf().webhooks.list()).webhooks;
  t.deepEqual(made?.events, ['run.failed', 'run.interrupted', 'run.stopped']);

  const choose = async (action: string): Promise<void> => {
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  const id = made?.webhook_id ?? '';
  const before = (await clientOf().webhooks.secret(id)).secret;
  await choose('Rotate the secret …');
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }).click();
  const { secret } = await clientOf().webhooks.secret(id);
  await page
    .getByRole('dialog', { name: 'Secret' })
    .getByRole('button', { name: `Copy the old secret ${before.slice(0, 8)}` })
    .waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  t.not(secret, before);

  await choose('Turn off');
  await page.getByRole('status', { name: 'Notices' }).getByText('Nothing is sent to it any more.').waitFor();
  t.false((await clientOf().webhooks.get(id)).enabled);
  await choose('Delete …');
  await page.getByRole('button', { name: 'Delete the webhook' }).click();
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor();
});

browserTest('a dead letter says why it was not taken, and is sent again', async (t) => {
  const { url, state } = await receiver(t, 410);
  const { webhook_id: id } = await clientOf().webhooks.create({ url, description: 'Gone' });
  const { page } = await open(t, `/${id}`);
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('status', { name: 'Notices' }).getByText('A test is sent.', { exact: false }).waitFor();
  await page.getByRole('tab', { name: 'Dead letters' }).click();
  const letter = page.getByRole('tabpanel').getByRole('listitem').filter({ hasText: 'A test' });
  await letter.waitFor();
  t.regex((await letter.textContent()) ?? '', /410/);
  state.status = 204;
  await clientOf().webhooks.update(id, { enabled: true });
  const { asked } = state;
  await letter.getByRole('button', { name: 'Send again' }).click();
  await letter.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'No dead letter' }).waitFor();
  while (state.asked === asked) await page.waitForTimeout(50);
  t.pass();
  await clientOf().webhooks.delete(id);
});

browserTest('what waits is shown with its attempts, for one webhook and for all, and can be given up', async (t) => {
  const { url } = await receiver(t, 503);
  const { webhook_id: id } = await clientOf().webhooks.create({ url, description: 'Busy' });
  await clientOf().webhooks.test(id);
  const { page } = await open(t, '/all');
  const waiting = page.getByRole('tabpanel').getByRole('listitem').filter({ hasText: 'A test' });
  await waiting.filter({ hasText: '1 attempt' }).waitFor();
  t.regex((await waiting.textContent()) ?? '', /503/);
  await page.getByRole('link', { name: /Busy/ }).click();
  await page.getByRole('heading', { name: 'Busy', level: 1 }).waitFor();
  await waiting.getByRole('button', { name: 'Give up' }).click();
  await page.getByRole('heading', { name: 'Nothing waits' }).waitFor();
  t.deepEqual((await clientOf().deliveries.list()).deliveries, []);
  await clientOf().webhooks.delete(id);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in an open webhook with an event: ${size}, ${colorScheme}`, async (t) => {
      const { url } = await receiver(t, 503);
      const { webhook_id: id } = await clientOf().webhooks.create({ url });
      await clientOf().webhooks.test(id);
      const { page } = await open(t, `/${id}`, { size, colorScheme });
      await page.getByRole('tabpanel').getByRole('listitem').first().waitFor();
      t.deepEqual(await violationsIn(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
      await clientOf().webhooks.delete(id);
    });
  }
}
