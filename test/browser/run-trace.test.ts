import { createClient, type Client, type TraceSpan } from '@agent-workflow/client';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { secrets } from '../agents/traced.ts';
import { openPage, sizes, slack, violationsIn, type PageOptions } from './browser.ts';
import { scripts } from './scripts.ts';
import { slowest } from './slowest.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'traced', { TRACE_CONTENT: 'on' });
const client = (): Client => createClient({ url: service.url() });

/** A run that has ended, however it did. */
async function ended(order: string): Promise<string> {
  const { run_id: id } = await client().runs.start({ messages: [{ role: 'user', content: order }] });
  await client()
    .runs.wait(id)
    .catch(() => undefined);
  return id;
}

const open = async (t: ExecutionContext, hash: string, options?: PageOptions): Promise<Page> =>
  (await openPage(t, `${service.url()}/playground#/runs/${hash}`, options)).page;

const row = (page: Page, name: string | RegExp): ReturnType<Page['getByRole']> =>
  page.getByRole('tree', { name: 'Steps on one time axis' }).getByRole('treeitem', { name });

const pane = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('complementary', { name: 'Chosen step' });

const chosenTab = (page: Page): Promise<string | null> => pane(page).getByRole('tab', { selected: true }).textContent();

browserTest(
  'a run that failed opens at the step that failed, with its error, its stack and its log lines',
  async (t) => {
    const page = await open(t, await ended('fail'));
    await row(page, /^Node fail .*failed/).waitFor();
    t.is(await chosenTab(page), 'Error');
    await pane(page).getByText(secrets.thrown).first().waitFor();
    t.regex((await pane(page).getByRole('region', { name: 'Lines of the stack' }).textContent()) ?? '', /traced\.ts/);
    await pane(page).getByRole('region', { name: 'Log lines' }).getByText(secrets.logged).waitFor();
    await page.getByRole('button', { name: /^Retry from fail/ }).waitFor();
    await page.locator('.run-cause').getByText(secrets.thrown).waitFor();
    t.deepEqual(await violationsIn(page), []);
  },
);

browserTest('whoever may see what was thrown reads it in the list, in the thread and in the chat, too', async (t) => {
  const id = await ended('fail');
  const { page } = await openPage(t, `${service.url()}/playground#/runs?status=failed`);
  await page.locator(`a[href="#/runs/${id}"]`).getByText(`fail: ${secrets.thrown}`).waitFor();
  const { thread_id: thread } = await client().runs.get(id);
  await page.goto(`${service.url()}/playground#/threads/${thread}`);
  await page.locator('.thread-runs').getByText(`fail: ${secrets.thrown}`).waitFor();
  await page.goto(`${service.url()}/playground#/chat/${thread}`);
  await page.getByRole('alert').getByText(secrets.thrown).waitFor();
  t.deepEqual(await violationsIn(page), []);
});

browserTest(
  'a call of a tool shows its arguments and result, one of a model what was sent and what came back',
  async (t) => {
    const page = await open(t, await ended('ask 42'));
    await row(page, /^Tool look_up/).click();
    await pane(page).getByRole('tab', { name: 'Input' }).click();
    await pane(page).getByRole('treeitem', { name: 'id: "42"' }).waitFor();
    await pane(page).getByRole('tab', { name: 'Output' }).click();
    await pane(page).getByText('42').first().waitFor();
    await row(page, /^Model small-1/)
      .last()
      .click();
    await pane(page).getByText('done', { exact: true }).waitFor();
    await pane(page).getByText('10 tokens in, 2 out').waitFor();
    await pane(page).getByText('ended by stop').waitFor();
    await pane(page).getByRole('tab', { name: 'Input' }).click();
    await pane(page).getByText('3 messages sent').waitFor();
    await pane(page).getByRole('tab', { name: 'Prompt' }).click();
    await pane(page).getByText(secrets.prompt).waitFor();
    await pane(page).getByText('look_up').first().waitFor();
    await row(page, /^Node tools/).click();
    await pane(page).getByRole('button', { name: 'small-1 in agent' }).click();
    await pane(page).getByRole('heading', { name: 'small-1' }).waitFor();
    t.deepEqual(await violationsIn(page), []);
  },
);

browserTest('the state before and after a step are compared', async (t) => {
  const page = await open(t, `${await ended('ask 42')}?span=s0&tab=diff`);
  await pane(page)
    .getByRole('row', { name: /^Added context\[1\]/ })
    .waitFor();
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a fan-out of 100 is one row; opened it shows the slowest and puts the others together', async (t) => {
  const page = await open(t, await ended('fan 100'));
  const fan = row(page, /^Fan-out branch 100 branches/);
  await fan.waitFor();
  t.true((await page.getByRole('tree', { name: 'Steps on one time axis' }).getByRole('treeitem').count()) <= 3);
  await fan.click();
  await page.keyboard.press('ArrowRight');
  await row(page, /^Branch branch 1 slowest/).waitFor();
  await row(page, /^98 more median /).click();
  await row(page, /^Branch branch \d+ completed/)
    .nth(9)
    .waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  t.is(await row(page, /^98 more median /).getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ArrowLeft');
  t.is(await row(page, /^98 more median /).getAttribute('aria-expanded'), 'false');
  await page.keyboard.press('ArrowLeft');
  t.is(await fan.getAttribute('aria-selected'), 'true');
  await page.keyboard.press('ArrowLeft');
  t.is(await fan.getAttribute('aria-expanded'), 'false');
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a branch shows what it has reported, and leads to its events', async (t) => {
  const page = await open(t, await ended('fan 3'));
  await row(page, /^Fan-out branch 3 branches/).click();
  await page.keyboard.press('ArrowRight');
  await row(page, /^Branch branch 1 slowest/).click();
  const reports = pane(page).getByRole('region', { name: 'Reports' });
  await reports.getByText('the shop is slow').waitFor();
  t.deepEqual(await violationsIn(page), []);
  await reports.getByRole('button', { name: 'Its events' }).click();
  await page.getByText('branch (branch 1) reports').waitFor();
  t.is(await page.getByRole('button', { name: /^Event \d+/ }).count(), 1);
  await page.reload();
  await page.getByRole('button', { name: 'Only step 0, branch, branch 1: show all' }).click();
  await page.getByText('The log begins').waitFor();
  t.deepEqual(await violationsIn(page), []);
});

browserTest('tries and steps of a sub-graph stand below their node', async (t) => {
  const page = await open(t, await ended('flaky'));
  await row(page, /^Attempt: try 1/).waitFor();
  await row(page, /^Attempt: try 3 after \d+ ms/).click();
  await pane(page).getByText('step 0, in flaky').waitFor();
  await page.goto(`${service.url()}/playground#/runs/${await ended('sub')}`);
  await row(page, /^Sub-graph sub sub-graph, 2 steps/).waitFor();
  await row(page, /^Node first/).waitFor();
  t.is(await row(page, /^Model small-1/).getAttribute('aria-level'), '3');
});

browserTest('a link opens the same step and tab, and back leads out of the page', async (t) => {
  const id = await ended('ask 42');
  const page = await open(t, '');
  await page.goto(`${service.url()}/playground#/runs/${id}`);
  await row(page, /^Tool look_up/).click();
  await pane(page).getByRole('tab', { name: 'Input' }).click();
  const link = page.url();
  t.regex(link, /span=s1\.\d+&tab=input$/);
  await page.reload();
  await pane(page).getByRole('heading', { name: 'look_up' }).waitFor();
  t.is(await chosenTab(page), 'Input');
  await page.goBack();
  t.false(page.url().includes(id));
});

browserTest('the keyboard alone goes through the trace: one stop, arrows, and [ ] for the tabs', async (t) => {
  const page = await open(t, await ended('ask 42'));
  await row(page, /^Node agent/)
    .first()
    .waitFor();
  await page.getByRole('searchbox', { name: 'Find a step' }).focus();
  await page.keyboard.press('Tab');
  const tree = page.getByRole('tree', { name: 'Steps on one time axis' });
  t.true(await tree.evaluate((element) => element === document.activeElement));
  await page.keyboard.press('Home');
  await pane(page).getByRole('heading', { name: 'agent' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await pane(page).getByRole('heading', { name: 'small-1' }).waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  t.is(
    await row(page, /^Node agent/)
      .first()
      .getAttribute('aria-expanded'),
    'false',
  );
  await page.keyboard.press(']');
  t.is(await chosenTab(page), 'State diff');
  await page.keyboard.press('[');
  t.is(await chosenTab(page), 'Output');
  await page.keyboard.press('Tab');
  t.false(await tree.evaluate((element) => element.contains(document.activeElement)));
});

browserTest('a step is found by its name', async (t) => {
  const page = await open(t, await ended('ask 42'));
  await page.getByRole('searchbox', { name: 'Find a step' }).fill('LOOK');
  await row(page, /^Node agent/)
    .first()
    .waitFor({ state: 'detached' });
  await row(page, /^Tool look_up/).waitFor();
  await page.getByRole('searchbox', { name: 'Find a step' }).fill('nothing of the kind');
  await page.getByText(/^No step has “nothing of the kind”/).waitFor();
  t.pass();
});

browserTest('a fork from a step is a new thread as it was before it', async (t) => {
  const page = await open(t, `${await ended('ask 42')}?span=s1`);
  await pane(page).getByRole('button', { name: 'Fork from here' }).click();
  await page.waitForURL(/#\/chat\//);
  const { messages } = await client().threads.messages(
    page
      .url()
      .replace(/.*#\/chat\//, '')
      .replace(/\?.*/, ''),
  );
  t.is(messages.length, 2, 'the question, and the answer that asks for the tool');
  await page.getByText('Forked from').getByRole('link', { name: 'ask 42' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a run that failed is tried again from there', async (t) => {
  const id = await ended('fail');
  const page = await open(t, id);
  await page.getByRole('button', { name: /^Retry from fail/ }).click();
  await page.waitForURL((url) => !url.hash.includes(id));
  await page.getByRole('link', { name: 'The run before it' }).waitFor();
  t.pass();
});

browserTest('the command that is copied makes the run again, and names the token without holding it', async (t) => {
  const { page, context } = await openPage(t, `${service.url()}/playground`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(() => sessionStorage.setItem('token', 'the-token-of-the-tab'));
  await page.goto(`${service.url()}/playground#/runs/${await ended('ask 42')}`);
  await page.reload();
  await row(page, /^Node agent/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Copy as curl' }).click();
  await page.getByText('Copied: the command makes this run once more.').waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  t.true(command.includes('Bearer $TOKEN'));
  t.true(command.includes('ask 42'));
  t.false(command.includes('the-token-of-the-tab'));
});

browserTest('what a model said leads to the memories nearest to it', async (t) => {
  const page = await open(t, await ended('ask 42'));
  await row(page, /^Model small-1/)
    .last()
    .click();
  await pane(page).getByRole('tab', { name: 'Output' }).click();
  const link = page.getByRole('link', { name: 'Find it in the memory' });
  t.regex((await link.getAttribute('href')) ?? '', /^#\/memory\?search=/);
});

browserTest('on a phone all that can be done with a run is in reach', async (t) => {
  const page = await open(t, await ended('fail'), { size: 'phone' });
  for (const name of ['Retry', 'Copy as curl', 'Compare with another run']) {
    const box = await page.getByRole('button', { name, exact: true }).first().boundingBox();
    t.true(box !== null && box.x >= 0 && box.x + box.width <= sizes.phone.width, `${name} ${JSON.stringify(box)}`);
  }
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  t.true(width <= 0);
});

browserTest('two runs stand side by side, step by step', async (t) => {
  const [one, other] = [await ended('ask 42'), await ended('hello')];
  const page = await open(t, one);
  await page.getByRole('button', { name: 'Compare with another run' }).click();
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('textbox', { name: 'Id of a run' }).fill(other);
  await page.getByRole('button', { name: 'Compare', exact: true }).click();
  const table = page.getByRole('region', { name: 'Comparison' });
  await table.getByRole('row', { name: /^agent .*(\+|−|same)/ }).waitFor();
  await table
    .getByRole('row', { name: /^tools .*only here/ })
    .getByRole('button')
    .click();
  await page.getByText('This run has no such step.').waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.reload();
  await table.getByRole('row', { name: /^tools .*only here/ }).waitFor();
  await page.getByRole('button', { name: 'End comparison' }).click();
  await row(page, /^Tool look_up/).waitFor();
});

/** Puts other spans in the place of those of a run. */
async function withSpans(page: Page, spans: readonly TraceSpan[]): Promise<void> {
  await page.route('**/trace?*', async (route) => {
    const response = await route.fetch();
    const { data, metadata } = (await response.json()) as { data: object; metadata: object };
    await route.fulfill({ response, json: { data: { ...data, spans, has_more: false }, metadata } });
  });
}

const span = (given: Partial<TraceSpan> & Pick<TraceSpan, 'id' | 'kind'>): TraceSpan => ({
  ...{ parent_id: null, name: given.id, step: 0, status: 'completed' },
  ...{ started_at: '2026-01-01T00:00:00.000Z', ended_at: '2026-01-01T00:00:01.000Z' },
  ...given,
});

browserTest('whatever names and errors of spans hold is shown as text', async (t) => {
  const page = await open(t, '');
  await withSpans(
    page,
    scripts.map((text, step) =>
      span({
        id: `s${String(step)}`,
        kind: 'step',
        name: text,
        step,
        status: 'failed',
        error: { message: text, code: text },
      }),
    ),
  );
  const title = await page.title();
  await page.goto(`${service.url()}/playground#/runs/${await ended('hello')}?tab=error`);
  await page.getByRole('tree', { name: 'Steps on one time axis' }).focus();
  await page.keyboard.press('Home');
  for (const text of scripts) {
    await pane(page)
      .getByText(text.split('\n')[0]?.trim() ?? '', { exact: false })
      .first()
      .waitFor();
    await page.keyboard.press('ArrowDown');
  }
  t.true((await page.title()).endsWith(title.split(' · ').at(-1) ?? ''));
  t.false((await page.title()).includes('taken'));
});

browserTest('a trace of 5,000 spans answers the hand within 50 ms', async (t) => {
  const page = await open(t, '');
  const spans = Array.from({ length: 1250 }, (_, step) => {
    const id = `s${String(step)}`;
    const at = new Date(1_767_225_600_000 + step * 100).toISOString();
    return [
      span({ id, kind: 'step', step, started_at: at, ended_at: at }),
      span({
        id: `${id}.1`,
        kind: 'node',
        name: `agent ${String(step)}`,
        parent_id: id,
        step,
        started_at: at,
        ended_at: at,
      }),
      span({ id: `${id}.2`, kind: 'model', name: 'large', parent_id: `${id}.1`, step, started_at: at, ended_at: at }),
      span({ id: `${id}.3`, kind: 'tool', name: 'look', parent_id: `${id}.1`, step, started_at: at, ended_at: at }),
    ];
  }).flat();
  await withSpans(page, spans);
  await page.goto(`${service.url()}/playground#/runs/${await ended('hello')}`);
  await row(page, /^Node agent 0/).waitFor();
  const browse = async (): Promise<void> => {
    await page.getByRole('tree', { name: 'Steps on one time axis' }).click({ position: { x: 120, y: 60 } });
    for (let turn = 0; turn < 8; turn++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('PageUp');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Home');
    for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, 6000);
    await page.getByRole('searchbox', { name: 'Find a step' }).pressSequentially('agent 12');
    await page.getByRole('searchbox', { name: 'Find a step' }).fill('');
  };
  const tookMs: number[] = [];
  for (let round = 0; round < 4; round++) tookMs.push(await slowest(page, browse));
  t.log(`the slowest interaction of each round took ${tookMs.join(', ')} ms`);
  // What else the machine does lengthens some rounds, and what the page does all of them.
  t.true(Math.min(...tookMs) <= 50 * slack());
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in a trace and a step of it: ${size}, ${colorScheme}`, async (t) => {
      const page = await open(t, await ended('ask 42'), { size, colorScheme });
      await row(page, /^Tool look_up/).waitFor();
      t.deepEqual(await violationsIn(page), []);
      await row(page, /^Tool look_up/).click();
      for (const tab of ['Input', 'Output', 'State diff', 'Prompt', 'Error']) {
        await pane(page).getByRole('tab', { name: tab }).click();
        t.deepEqual(await violationsIn(page), [], tab);
      }
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0);
      if (size === 'phone') await page.getByRole('button', { name: 'Back to the trace' }).click();
      for (const tab of ['Graph', /^Events/]) {
        await page.getByRole('tab', { name: tab }).click();
        t.deepEqual(await violationsIn(page), []);
      }
    });
  }
}
