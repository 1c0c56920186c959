import { createClient, type Client } from '@agent-workflow/client';
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);
const large = servePages(test);
const forgetful = servePages(test, 'obedient', { CHECKPOINT_KEEP: '2' });

const clientOf = (of = service): Client => createClient({ url: of.url() });

/** One turn on a thread, which the first one makes. */
const runTurn = async (id: string, text: string, config: object = {}, of = service): Promise<void> => {
  await clientOf(of).invoke({ messages: [{ role: 'user', content: text }], config: { thread_id: id, ...config } });
};

async function open(t: ExecutionContext, hash: string, options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/${hash}`, options);
  return page;
}

const links = (page: Page): Locator => page.getByRole('region', { name: 'List of threads' }).getByRole('link');
const versions = (page: Page): Locator => page.getByRole('navigation', { name: /^Versions/ }).getByRole('link');

browserTest('threads are found by the text of their names, ids and metadata', async (t) => {
  await runTurn('found-1', 'hello', { thread_name: 'A trip', metadata: { city: 'Lisbon' } });
  await runTurn('found-2', 'hello', { thread_name: 'A walk', metadata: { city: 'Porto' } });
  const page = await open(t, 'threads');
  await page.getByRole('searchbox', { name: 'Search' }).fill('porto');
  await links(page).filter({ hasText: 'A walk' }).waitFor();
  await links(page).filter({ hasText: 'A trip' }).waitFor({ state: 'detached' });
  await page.waitForURL((url) => url.hash === '#/threads?search=porto');
  await page.getByRole('status').getByText('1 thread', { exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Search' }).fill('nowhere at all');
  await page.getByRole('heading', { name: 'No thread is as you ask' }).waitFor();
  await page.goto(`${service.url()}/playground#/threads?search=found-1`);
  await page.reload();
  await links(page).filter({ hasText: 'A trip' }).click();
  await page.getByRole('heading', { name: 'A trip', level: 1 }).waitFor();
  t.true(await page.getByText('{"city":"Lisbon"}').isVisible());
  t.is(await page.getByRole('link', { name: 'Open in chat' }).getAttribute('href'), '#/chat/found-1');
  const run = (await clientOf().threads.get('found-1')).run_id ?? '';
  const runs = page.getByRole('region', { name: 'Runs' });
  t.is(await runs.getByRole('link').first().getAttribute('href'), `#/runs/${run}`);
});

browserTest('each version shows the state as it was, and what it has changed since the one before', async (t) => {
  await runTurn('past', 'hello');
  await clientOf().threads.writeState('past', { notes: ['an umbrella'] });
  const page = await open(t, 'threads/past');
  await page.getByRole('heading', { name: 'State now' }).waitFor();
  await versions(page).filter({ hasText: 'Direct write' }).waitFor();
  const titles = page.locator('.version-title');
  t.deepEqual(await titles.allTextContents(), ['Now', 'Direct write', 'obey', 'Input']);
  await versions(page).filter({ hasText: 'Direct write' }).click();
  const changes = page.getByRole('table', { name: /from the earlier state to the later one/ });
  await changes.getByRole('row', { name: 'Added notes[0] "an umbrella"' }).waitFor();

  await versions(page).filter({ hasText: 'Step 0' }).click();
  await page.getByRole('heading', { name: 'State at obey' }).waitFor();
  await changes.getByRole('row', { name: 'Changed rounds 0 1' }).waitFor();
  await page.getByRole('combobox', { name: 'Compared with' }).selectOption('the state now');
  await changes.getByRole('row', { name: 'Added notes[0] "an umbrella"' }).waitFor();
  t.is(await changes.getByRole('row', { name: 'Changed rounds' }).count(), 0);
  await page.getByText(/^\d+ fields? did not change$/).click();
  await page.getByRole('tab', { name: 'Whole state' }).click();
  const whole = page.getByRole('tree', { name: 'State at this version' });
  for (const name of ['rounds: 1', 'notes: [ ]']) await whole.getByRole('treeitem', { name }).waitFor();
});

browserTest('a fork begins at its version and leads to the chat of the new thread', async (t) => {
  await runTurn('trunk', 'hello');
  await runTurn('trunk', 'more');
  const page = await open(t, 'threads/trunk');
  await versions(page).filter({ hasText: 'Step 0' }).last().click();
  await page.getByRole('button', { name: 'Fork from here' }).click();
  await page.getByRole('main', { name: 'Chat' }).waitFor();
  await page.waitForURL(/#\/chat\/[^?]+/);
  const id = /^#\/chat\/([^?]+)/.exec(new URL(page.url()).hash)?.[1] ?? '';
  t.like(await clientOf().threads.state(id), { state: { rounds: 1 } });
});

browserTest('a version that is not kept any more says why, and cannot be forked', async (t) => {
  await runTurn('kept', 'rounds 6', {}, forgetful);
  const url = `${forgetful.url()}/playground#/threads/kept`;
  const gone = { expected: [/404 \(Not Found\)/] };
  const { page } = await openPage(t, url, gone);
  await versions(page).filter({ hasText: 'Step' }).first().waitFor();
  const listed = await versions(page).count();
  for (let turn = 0; turn < 3; turn++) await runTurn('kept', 'rounds 12', {}, forgetful);
  await versions(page)
    .nth(listed - 1)
    .click();
  await page.getByText('This version is not kept any more', { exact: false }).waitFor();
  const fork = page.getByRole('button', { name: 'Fork from here' });
  t.true(await fork.isDisabled());
  const reason = await fork.getAttribute('aria-describedby');
  t.regex((await page.locator(`[id="${reason ?? ''}"]`).textContent()) ?? '', /CHECKPOINT_KEEP and CHECKPOINT_TTL/);
});

browserTest(
  'a field is written by a box of its type, several as JSON, and a refusal leaves the text in its box',
  async (t) => {
    await runTurn('written', 'hello');
    const page = await open(t, 'threads/written?tab=state', { expected: [/422/] });
    await page.getByText('Write a field').click();
    const form = page.getByRole('form', { name: 'Write a field' });
    await form.getByRole('spinbutton', { name: 'Value of rounds' }).fill('7');
    await form.getByRole('button', { name: 'Write' }).click();
    await page.getByText('rounds: written.').waitFor();
    t.like(await clientOf().threads.state('written'), { state: { rounds: 7 } });
    await versions(page).filter({ hasText: 'Direct write' }).waitFor();

    await form.getByRole('combobox', { name: 'Field' }).selectOption('notes');
    await form.getByRole('textbox', { name: 'Value of notes' }).fill('[one');
    await form.getByRole('button', { name: 'Write' }).click();
    await form.getByText('notes is not JSON', { exact: false }).waitFor();

    await form.getByRole('combobox', { name: 'Field' }).selectOption('');
    await form.getByRole('textbox', { name: 'Fields' }).fill('{"rounds": "many"}');
    await form.getByRole('button', { name: 'Write' }).click();
    t.regex((await form.getByRole('alert').textContent()) ?? '', /state\.rounds.*number/);
    t.is(await form.getByRole('textbox', { name: 'Fields' }).inputValue(), '{"rounds": "many"}');
    await form.getByRole('textbox', { name: 'Fields' }).fill('{"rounds": 8, "notes": ["two"]}');
    await form.getByRole('button', { name: 'Write' }).click();
    await page.getByText('rounds, notes: written.').waitFor();
    t.like(await clientOf().threads.state('written'), { state: { rounds: 8, notes: ['two'] } });
  },
);

browserTest('a thread goes only when the dialog is confirmed, and the focus comes back when it is not', async (t) => {
  await runTurn('doomed', 'hello', { thread_name: 'A doomed thread' });
  const page = await open(t, 'threads/doomed');
  const button = page.getByRole('button', { name: 'More of this thread' });
  const openDialog = async (): Promise<void> => {
    await button.click();
    await page.getByRole('menuitem', { name: 'Delete …' }).click();
  };
  const dialog = page.getByRole('dialog', { name: 'Delete this thread?' });
  await openDialog();
  await dialog.waitFor();
  t.is(await page.evaluate(() => document.activeElement?.textContent), 'Cancel');
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.is(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'More of this thread');
  await openDialog();
  await dialog.getByRole('button', { name: 'Delete the thread' }).click();
  await page.getByText('“A doomed thread” is deleted.').waitFor();
  t.is(await links(page).filter({ hasText: 'A doomed thread' }).count(), 0);
  await t.throwsAsync(clientOf().threads.get('doomed'), { message: /does not exist/ });
});

browserTest('a thread that is not there says so', async (t) => {
  const page = await open(t, 'threads/nothing-here', { expected: [/404/] });
  const alert = page.getByRole('alert').first();
  await alert.waitFor();
  t.regex((await alert.textContent()) ?? '', /thread "nothing-here" does not exist/);
});

browserTest('a list of 1,000 threads is read page by page and answers the keyboard at once', async (t) => {
  const client = clientOf(large);
  await runTurn('seed', 'hello', { thread_name: 'seed' }, large);
  const [first] = (await client.threads.checkpoints('seed')).checkpoints;
  for (let made = 1; made < 1000; made += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, 1000 - made) }, async () =>
        client.threads.fork('seed', first?.checkpoint_id ?? '', { config: { thread_name: 'fork' } }),
      ),
    );
  const { page } = await openPage(t, `${large.url()}/playground#/threads`);
  for (let shown = 100; shown < 1000; shown += 100) {
    await page.getByText(`The first ${String(shown)} threads`).waitFor();
    await page.getByRole('button', { name: 'Load more threads' }).click();
  }
  await page.getByText('1,000 threads', { exact: true }).waitFor();
  t.true((await links(page).count()) < 60, 'only those in sight are drawn');
  const slowest = await slowestOf(page, async () => {
    const list = page.getByRole('region', { name: 'List of threads' });
    await list.focus();
    for (let press = 0; press < 8; press++) await page.keyboard.press('PageDown');
    await page.keyboard.press('End');
    await links(page).filter({ hasText: 'seed' }).waitFor();
    await links(page).filter({ hasText: 'seed' }).click();
    await page.getByRole('heading', { name: 'seed', level: 1 }).waitFor();
  });
  t.log(`the longest task took ${slowest.task.toFixed(0)} ms, the slowest interaction ${slowest.event.toFixed(0)} ms`);
  t.true(slowest.task <= 100, `${slowest.task.toFixed(0)} ms`);
});

interface Slowest {
  /** The longest task: how long the page could not answer. */
  readonly task: number;
  /** From the longest-awaited key or click to its paint. */
  readonly event: number;
}

/** What a page was slowest in while something is done in it, in milliseconds. */
async function slowestOf(page: Page, work: () => Promise<void>): Promise<Slowest> {
  await page.evaluate(() => {
    const slowest = { task: 0, event: 0 };
    Object.assign(globalThis, { slowest });
    const note = (kind: keyof typeof slowest) => (list: PerformanceObserverEntryList) => {
      for (const { duration } of list.getEntries()) slowest[kind] = Math.max(slowest[kind], duration);
    };
    new PerformanceObserver(note('task')).observe({ type: 'longtask' });
    new PerformanceObserver(note('event')).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit);
  });
  await work();
  return await page.evaluate(() => (globalThis as unknown as { slowest: Slowest }).slowest);
}

browserTest(
  'a version is restored, and a thread is renamed, copied and loses older versions by its menu',
  async (t) => {
    await runTurn('managed', 'hello');
    await clientOf().threads.writeState('managed', { notes: ['later'] });
    const page = await open(t, 'threads/managed');
    const menu = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'More of this thread' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await versions(page).filter({ hasText: 'Step 0' }).click();
    await page.getByRole('button', { name: 'Restore …' }).click();
    t.deepEqual(await violationsIn(page), []);
    await page.getByRole('button', { name: 'Restore it' }).click();
    await versions(page).filter({ hasText: 'Restored' }).waitFor();
    t.like(await clientOf().threads.state('managed'), { state: { notes: [] } });

    await menu('Rename …');
    await page.getByRole('textbox', { name: 'Name' }).fill('Managed');
    t.deepEqual(await violationsIn(page), []);
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('heading', { name: 'Managed', level: 1 }).waitFor();
    await links(page).filter({ hasText: 'Managed' }).waitFor();

    await menu('Drop older versions …');
    await page.getByRole('spinbutton', { name: 'Newest versions that stay' }).fill('1');
    await page.getByRole('button', { name: 'Drop them' }).click();
    await versions(page).filter({ hasText: 'Step 0' }).waitFor({ state: 'detached' });

    await menu('Copy …');
    await page.getByRole('button', { name: 'Copy the thread' }).click();
    await page.waitForURL((url) => /#\/threads\/[^?]+/.test(url.hash) && !url.hash.includes('managed'));
    await page.getByRole('heading', { name: 'Managed', level: 1 }).waitFor();
  },
);

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in a thread and in a version of it: ${size}, ${colorScheme}`, async (t) => {
      await runTurn('looked-at', 'hello', { thread_name: 'Looked at', metadata: { long: 'x'.repeat(200) } });
      const page = await open(t, 'threads/looked-at?tab=state', { size, colorScheme });
      await page.getByText('Write a field').click();
      t.deepEqual(await violationsIn(page), []);
      await versions(page).filter({ hasText: 'Step 0' }).first().click();
      await page.getByRole('tab', { name: 'Changes' }).click();
      await page.getByRole('table', { name: /from the earlier state/ }).waitFor();
      t.deepEqual(await violationsIn(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
      if (size === 'phone') {
        const state = await page.getByRole('heading', { name: 'State at obey' }).boundingBox();
        t.true(state !== null && state.y < 422, 'the reader is brought to the state');
        await page.getByRole('link', { name: 'Back to Threads' }).click();
        await links(page).filter({ hasText: 'Looked at' }).waitFor();
      }
    });
  }
}

browserTest('on a phone the versions are a strip that scrolls in itself', async (t) => {
  for (let turn = 0; turn < 3; turn++) await runTurn('strip', 'hello');
  const page = await open(t, 'threads/strip', { size: 'phone' });
  const strip = page.getByRole('navigation', { name: /^Versions/ }).getByRole('list');
  await versions(page).nth(4).waitFor();
  const box = await strip.boundingBox();
  t.true(box !== null && box.x + box.width <= sizes.phone.width, JSON.stringify(box));
  t.true(await strip.evaluate((list) => list.scrollWidth > list.clientWidth + 100));
  await strip.hover();
  await page.mouse.wheel(400, 0);
  await page.waitForFunction(() => (document.querySelector('nav[aria-labelledby] > ol')?.scrollLeft ?? 0) > 100);
  await versions(page).nth(4).click();
  await page.waitForURL(/at=/);
});
