import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@agent-workflow/client';
import test from 'ava';
import type { Page } from 'playwright-core';
import { twoAgents } from '../http/two-agents.ts';
import { openEmbedded } from '../servers/embedded.ts';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const revisions = (page: Page, agent: string) => page.getByRole('table', { name: `Revisions of ${agent}` });
const row = (page: Page, agent: string, revision: string) =>
  revisions(page, agent)
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: revision, exact: true }) });

const registered_at = '2026-01-01T12:00:00.000Z';

/** Agents with every state that a revision can have. */
const shown = [
  {
    ...{ name: 'support', description: 'Answers customers.', is_default: true, tools: ['refund', 'look_up'] },
    routing: { version: 7, current: 'v5', ramping: { revision: 'v6', percent: 25 } },
    revisions: [
      { revision: 'v1', state: 'retired', percent: 0, open_runs: 0, registered_at },
      { revision: 'v2', state: 'registered', percent: 0, open_runs: 0, registered_at },
      { revision: 'v3', state: 'drained', percent: 0, open_runs: 0, registered_at },
      { revision: 'v4', state: 'draining', percent: 0, open_runs: 1234, workers: 0, registered_at },
      { revision: 'v5', state: 'current', percent: 75, workers: 0, registered_at },
      {
        revision: `sha256-${'0123456789abcdef'.repeat(4)}`,
        state: 'ramping',
        percent: 25,
        open_runs: 2,
        workers: 56,
        registered_at,
      },
    ],
  },
  { name: 'billing', description: null, is_default: false, tools: [] },
];

/** One of them as it is read alone. */
const detail = { ...shown[0], tools: [], graph: { nodes: [], edges: [] }, state_schema: { fields: {} } };

browserTest('the agents are listed with their revisions, and their runs name the one that served them', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'agents-view-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const start = (revision: string) => openEmbedded(null, { DATA_DIR: folder, AGENT_REVISION: revision }, twoAgents);
  const config = { thread_id: 'served' };
  const messages = [{ role: 'user', content: 'hello' }] as const;
  {
    await using first = await start('v1');
    await createClient({ url: first.url }).invoke({ messages, config });
  }
  await using second = await start('v2');
  const { meta } = await createClient({ url: second.url }).invoke({ messages, config });
  const { page, context } = await openPage(t, `${second.url}/playground#/agents/support`);
  const [newest, oldest] = [row(page, 'support', 'v2'), row(page, 'support', 'v1')];
  await newest.getByRole('cell', { name: 'current' }).waitFor();
  await newest.getByRole('cell', { name: '100 %' }).waitFor();
  await oldest.getByRole('cell', { name: 'draining' }).waitFor();
  t.deepEqual(await revisions(page, 'support').getByRole('rowheader').allInnerTexts(), ['v2', 'v1']);
  await page.getByRole('link', { name: /office/ }).click();
  await page.getByRole('article', { name: 'Agent' }).getByRole('link', { name: 'Runs' }).click();
  await page.getByRole('heading', { name: 'No run is as you ask' }).waitFor();

  await page.goto(`${second.url}/playground#/runs/${meta.run_id}`);
  await page.getByText('support revision v2', { exact: true }).waitFor();
  await page.goto(`${second.url}/playground#/threads/served`);
  const runs = page.getByRole('region', { name: 'Runs', exact: true }).getByRole('listitem');
  await runs.first().getByText('support · v2', { exact: true }).waitFor();
  await runs.nth(1).getByText('support · v1', { exact: true }).waitFor();
  // Before the service, which the page could no longer reach.
  await context.close();
});

browserTest('an agent is shown with its drawing, its tools, its state and its failed share', async (t) => {
  const client = createClient({ url: service.url() });
  await client.invoke({ messages: [{ role: 'user', content: 'hello' }] });
  await t.throwsAsync(client.invoke({ messages: [{ role: 'user', content: 'fail' }] }));
  const { page } = await openPage(t, `${service.url()}/playground#/memory`, { expected: [/403/] });
  await page.route(
    '**/v1/agents',
    (route) => route.fulfill({ status: 403, json: { error: { code: 'PERMISSION_DENIED', message: 'Not yours.' } } }),
    { times: 1 },
  );
  await page.getByRole('navigation').getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('alert').filter({ hasText: 'Not yours.' }).waitFor();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: /^active default/ }).click();
  const agent = page.getByRole('article', { name: 'Agent' });
  await agent.getByRole('heading', { name: 'default', level: 1 }).waitFor();
  await agent.getByRole('region', { name: 'Tools' }).getByText('Adds two numbers.').waitFor();
  await agent.getByRole('region', { name: 'State' }).getByText('Turns so far').waitFor();
  await agent.getByRole('img', { name: /^Graph of \d+ nodes/ }).waitFor();
  const share = agent.getByRole('link', { name: '1 of the newest 2 runs failed' });
  t.is(await share.getAttribute('href'), '#/runs?status=failed');
  t.is(await page.getByRole('alert').count(), 0);
  t.deepEqual(await violationsIn(page), []);
});

for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in the view of agents: ${size}, ${colorScheme}`, async (t) => {
      const { page } = await openPage(t, `${service.url()}/playground`, { size, colorScheme });
      await page.route('**/v1/agents', (route) => route.fulfill({ json: { data: { agents: shown }, metadata: {} } }));
      await page.route('**/v1/agents/support', (route) => route.fulfill({ json: { data: detail, metadata: {} } }));
      await page.goto(`${service.url()}/playground#/agents/support`);
      await row(page, 'support', 'v4').getByRole('cell', { name: '1,234' }).waitFor();
      await row(page, 'support', 'v5').getByRole('cell', { name: 'not counted' }).waitFor();
      await row(page, 'support', 'v3').getByRole('cell', { name: 'not known' }).waitFor();
      await revisions(page, 'support').getByRole('cell', { name: '56', exact: true }).waitFor();
      const warnings = page.getByRole('status', { name: 'Warnings about support' });
      t.deepEqual(await warnings.allInnerTexts(), [
        'No worker of revision v5 is there: its runs wait until one comes.',
      ]);
      await page.getByText('its workers may be taken away').waitFor();
      t.deepEqual(await violationsIn(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0, `the view is ${String(width)} px wider than the window`);
    });
  }
}
