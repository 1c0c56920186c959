import { fileURLToPath } from 'node:url';
import { createClient, type Client } from '@agent-workflow/client';
import test from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, sizes, violationsIn } from './browser.ts';
import { box, messages, send } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const graphIn = (name: string): string => `${fileURLToPath(new URL(`../agents/${name}.ts`, import.meta.url))}:graph`;

/** `support` says back what it is told, `travel` says what its state holds. */
const agents = {
  support: graphIn('chatting'),
  travel: { path: graphIn('choosing'), description: 'Plans a trip by season, days and town.' },
};
const service = servePages(test, null, {}, { agents, default_agent: 'support' });
const equals = servePages(test, null, {}, { agents });
const single = servePages(test, 'chatting');

const client = (of = service): Client => createClient({ url: of.url() });
const address = (hash: string, of = service): string => `${of.url()}/playground#/${hash}`;

/** One turn of an agent on a thread of its own. @returns the id of the run. */
async function turn(agent: string, threadId: string, content = 'hello'): Promise<string> {
  const config = { thread_id: threadId, agent };
  return (await client().invoke({ messages: [{ role: 'user', content }], config })).meta.run_id;
}

const sendButton = (page: Page): Locator => page.getByRole('button', { name: 'Send', exact: true });
const picker = (page: Page): Locator => page.getByRole('combobox', { name: 'Agent', exact: true });

/** The agent of the thread that the address names. */
async function agentOfThread(page: Page): Promise<string | null> {
  await page.waitForURL(/#\/chat\/[^?]+\?run=/);
  const id = /#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '';
  return (await client().threads.get(id)).agent;
}

browserTest('a new chat goes to the default agent, or to the one that is chosen, also after a reload', async (t) => {
  const { page } = await openPage(t, address('chat'));
  await picker(page).waitFor();
  t.is(await picker(page).inputValue(), 'support');
  await picker(page).selectOption('travel');
  await page.getByText('Plans a trip by season, days and town.').waitFor();
  await page.waitForURL((url) => url.hash === '#/chat?agent=travel');
  await page.reload();
  await page.getByText('Plans a trip by season, days and town.').waitFor();
  t.is(await picker(page).inputValue(), 'travel');
  await send(page, 'hello');
  await messages(page).getByText('In winter, for 1 days, to no town.').waitFor();
  t.is(await agentOfThread(page), 'travel');
  t.is(await picker(page).count(), 0);
  await page.getByText('Agent travel', { exact: true }).waitFor();

  await page.getByRole('link', { name: 'New chat' }).click();
  await picker(page).waitFor();
  t.is(await picker(page).inputValue(), 'support');
  await send(page, 'hello again');
  await messages(page).getByText('hello again').last().waitFor();
  t.is(await agentOfThread(page), 'support');
});

browserTest('the initial state has the fields of the agent that is chosen', async (t) => {
  const { page } = await openPage(t, address('chat?agent=travel'));
  await page.getByText('Options').click();
  await page.getByRole('combobox', { name: 'season' }).selectOption('summer');
  await picker(page).selectOption('support');
  await page.getByRole('textbox', { name: 'name', exact: true }).waitFor();
  t.is(await page.getByRole('combobox', { name: 'season' }).count(), 0);
  await picker(page).selectOption('travel');
  const season = page.getByRole('combobox', { name: 'season' });
  await season.waitFor();
  t.is(await season.inputValue(), '', 'what was written for the state of another agent is gone');
  await season.selectOption('summer');
  await page.getByRole('combobox', { name: 'town' }).selectOption('Porto');
  await send(page, 'hello');
  await messages(page).getByText('In summer, for 1 days, to Porto.').waitFor();
});

browserTest('the agent cannot be named by the further config as well', async (t) => {
  const { page } = await openPage(t, address('chat'));
  await picker(page).waitFor();
  await page.getByText('Options').click();
  await page.getByLabel('Further config, as a JSON object').fill('{"agent":"travel"}');
  await send(page, 'hello');
  await page.getByRole('alert').filter({ hasText: 'The config must not name `agent`' }).waitFor();
  t.is(await messages(page).count(), 0);
});

browserTest('without a default agent nothing is sent until one is chosen, and the page says why', async (t) => {
  const { page } = await openPage(t, address('chat', equals));
  await box(page).fill('hello');
  const reason = page.getByRole('status').filter({ hasText: 'Choose the agent that the message goes to' });
  await reason.waitFor();
  t.true(await sendButton(page).isDisabled());
  t.is(await sendButton(page).getAttribute('aria-describedby'), await reason.getAttribute('id'));
  t.is(await picker(page).locator('option:checked').textContent(), 'Choose an agent');
  await box(page).press('Control+Enter');
  t.is(new URL(page.url()).hash, '#/chat');
  t.deepEqual(await violationsIn(page), []);
  await picker(page).selectOption('travel');
  await reason.waitFor({ state: 'detached' });
  await sendButton(page).click();
  await messages(page).getByText('In winter, for 1 days, to no town.').waitFor();
});

browserTest('an agent of the address that there is not is named, and nothing is sent to it', async (t) => {
  const { page } = await openPage(t, address('chat?agent=nobody'));
  await box(page).fill('hello');
  await page.getByRole('status').filter({ hasText: 'There is no agent “nobody”' }).waitFor();
  t.is(await picker(page).inputValue(), 'nobody');
  t.true(await sendButton(page).isDisabled());
  await picker(page).selectOption('support');
  await sendButton(page).click();
  await messages(page).getByText('hello').last().waitFor();
  t.is(await agentOfThread(page), 'support');
});

browserTest('an edit of the first message begins a thread of the same agent', async (t) => {
  await turn('travel', 'edited');
  const { page } = await openPage(t, address('chat/edited'));
  await page.getByText('Agent travel', { exact: true }).waitFor();
  await messages(page).getByRole('button', { name: 'Edit' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Edit and fork' });
  await dialog.getByRole('textbox', { name: 'Message' }).fill('hello there');
  await dialog.getByRole('button', { name: 'Fork and send' }).click();
  t.is(await agentOfThread(page), 'travel');
  await page.getByText('Agent travel', { exact: true }).waitFor();
});

browserTest('the runs show their agent, and are listed by it; a run is drawn in the graph of its own', async (t) => {
  const [supported, travelled] = [await turn('support', 'runs-1'), await turn('travel', 'runs-2')];
  const rowOf = (id: string): Locator => page.locator(`a[href="#/runs/${id}"]`);
  const { page } = await openPage(t, address('runs'));
  await rowOf(supported).getByText('support', { exact: true }).waitFor();
  await rowOf(travelled).getByText('travel', { exact: true }).waitFor();
  await picker(page).selectOption('travel');
  await rowOf(supported).waitFor({ state: 'detached' });
  await page.getByRole('combobox', { name: 'Status' }).selectOption('completed');
  await page.waitForURL((url) => url.hash === '#/runs?agent=travel&status=completed');
  await page.reload();
  await rowOf(travelled).waitFor();
  t.is(await rowOf(supported).count(), 0);
  t.is(await picker(page).inputValue(), 'travel');
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('combobox', { name: 'Status' }).selectOption('failed');
  await page.getByRole('heading', { name: 'No run is as you ask' }).waitFor();

  for (const [id, agent, node] of [
    [supported, 'support', 'talk'],
    [travelled, 'travel', 'say'],
  ] as const) {
    await page.goto(address(`runs/${id}`));
    await page.getByText(agent, { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Graph' }).click();
    const graph = page.getByRole('region', { name: 'Graph', exact: true });
    await graph.getByText('Nodes').click();
    await graph.getByRole('rowheader', { name: node, exact: true }).waitFor();
  }
});

browserTest('the threads show their agent, and its fields are written', async (t) => {
  await turn('support', 'threads-1');
  await turn('travel', 'threads-2');
  const { page } = await openPage(t, address('threads?search=threads-'));
  const rowOf = (id: string): Locator => page.locator(`a[href^="#/threads/${id}"][data-row]`);
  const thread = page.getByRole('article', { name: 'Thread' });
  await rowOf('threads-1').filter({ hasText: 'support' }).waitFor();
  await rowOf('threads-2').filter({ hasText: 'travel' }).click();
  await thread.getByText('travel', { exact: true }).first().waitFor();
  await page.getByRole('tab', { name: 'Whole state' }).click();
  await page.getByText('Write a field').click();
  const form = page.getByRole('form', { name: 'Write a field' });
  await form.getByRole('combobox', { name: 'Field' }).selectOption('town (string)');
  await form.getByRole('textbox', { name: 'Value of town' }).fill('Porto');
  await form.getByRole('button', { name: 'Write' }).click();
  await page.getByText('town: written.').waitFor();
  t.like(await client().threads.state('threads-2'), { state: { town: 'Porto' }, agent: 'travel' });
  await rowOf('threads-1').click();
  await thread.getByText('support', { exact: true }).first().waitFor();
  await page.getByRole('tab', { name: 'Whole state' }).click();
  await page.getByText('Write a field').click();
  await form.getByRole('combobox', { name: 'Field' }).selectOption('turns (integer)');
});

browserTest('a thread that belongs to no agent yet gets that of its next run, and says so until then', async (t) => {
  const config = { thread_id: 'unclaimed', agent: 'support' };
  await client(equals).invoke({ messages: [{ role: 'user', content: 'hello' }], config });
  const { page } = await openPage(t, address('chat', equals));
  // Forks that an earlier version has made are such threads.
  await page.route('**/v1/threads/unclaimed', async (route) => {
    const reply = await route.fetch();
    await route.fulfill({
      response: reply,
      body: (await reply.text()).replaceAll('"agent":"support"', '"agent":null'),
    });
  });
  await page.goto(address('chat/unclaimed', equals));
  await picker(page).waitFor();
  t.true(await sendButton(page).isDisabled());
  await page.getByRole('status').filter({ hasText: 'Choose the agent' }).waitFor();
  await page.goto(address('threads/unclaimed?tab=state', equals));
  await page.getByText('The first run gives this thread its agent').waitFor();
  t.true(await page.getByText('no agent yet', { exact: true }).isVisible());
});

browserTest('with one agent nothing is asked and nothing is named, and the agents are read once', async (t) => {
  const run = await client(single).invoke({
    messages: [{ role: 'user', content: 'hello' }],
    config: { thread_id: 'alone' },
  });
  const { page } = await openPage(t, address('memory', single));
  const asked: string[] = [];
  const sent: unknown[] = [];
  page.on('request', (request) => {
    asked.push(new URL(request.url()).pathname);
    if (request.method() === 'POST' && request.url().endsWith('/v1/runs')) sent.push(request.postDataJSON());
  });
  await page.goto(address('chat', single));
  await send(page, 'hello');
  await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();
  t.like(sent[0], { config: {} });
  t.false(JSON.stringify(sent).includes('"agent"'));
  t.is((await picker(page).count()) + (await page.getByText(/^Agent default/).count()), 0);
  for (const [hash, shown] of [
    ['runs', page.getByRole('region', { name: 'List of runs' }).getByRole('link').first()],
    [`runs/${run.meta.run_id}`, page.getByRole('tab', { name: 'Graph' })],
    ['threads/alone?tab=state', page.getByText('Write a field')],
  ] as const) {
    await page.evaluate((to) => {
      location.hash = `#/${to}`;
    }, hash);
    await shown.waitFor();
    t.is(await picker(page).count(), 0, hash);
    t.is(await page.getByText('default', { exact: true }).count(), 0, hash);
  }
  t.is(asked.filter((path) => path === '/v1/agents').length, 1);
});

for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing where agents are chosen and shown: ${size}, ${colorScheme}`, async (t) => {
      const run = await turn('travel', 'looked-at');
      const { page } = await openPage(t, address('chat?agent=travel'), { size, colorScheme });
      for (const [hash, shown] of [
        ['chat?agent=travel', page.getByText('Plans a trip by season')],
        ['chat?agent=nobody', page.getByText('There is no agent “nobody”')],
        ['chat/looked-at', page.getByText('Agent travel', { exact: true })],
        ['runs', page.getByRole('region', { name: 'List of runs' }).getByText('travel', { exact: true }).first()],
        [`runs/${run}`, page.getByRole('main').getByText('travel', { exact: true })],
        [
          'threads/looked-at',
          page.getByRole('article', { name: 'Thread' }).getByText('travel', { exact: true }).first(),
        ],
      ] as const) {
        await page.goto(address(hash));
        await shown.waitFor();
        t.deepEqual(await violationsIn(page), [], hash);
        const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        t.true(width <= 0, `${hash} is ${String(width)} px wider than the window`);
      }
    });
  }
}
