import { createClient, type Client } from '@agent-workflow/client';
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openPage, slack, violationsIn } from './browser.ts';
import { scripts } from './scripts.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'touring');
const client = (): Client => createClient({ url: service.url() });

/** Opens the input of a step whose state is this JSON text. */
async function openState(t: ExecutionContext, text: string): Promise<Page> {
  const { run_id: id } = await client().runs.start({ messages: [{ role: 'user', content: 'plan 2' }] });
  await client().runs.wait(id);
  const { page, context } = await openPage(t, `${service.url()}/playground`);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.route('**/steps/0', async (route) => {
    const response = await route.fetch();
    const { data, metadata } = (await response.json()) as { data: { step: object }; metadata: object };
    const body = `{"data":{"step":${JSON.stringify(data.step)},"state":${text}},"metadata":${JSON.stringify(metadata)}}`;
    await route.fulfill({ response, body });
  });
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
    });
  });
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#/runs/${id}?span=s1&tab=input`);
  return page;
}

const tree = (page: Page): ReturnType<Page['getByRole']> => page.getByRole('tree', { name: 'State before the step' });
const row = (page: Page, name: string | RegExp): ReturnType<Page['getByRole']> =>
  tree(page).getByRole('treeitem', { name });
const copied = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText());

browserTest('numbers and double fields are shown and copied as they are written', async (t) => {
  const page = await openState(t, '{"n":12345678901234567890123,"e":1e400,"a":1,"a":2,"list":[{"deep":[0.10]}]}');
  await row(page, 'n: 12345678901234567890123').click({ position: { x: 30, y: 10 } });
  await page.keyboard.press('v');
  t.is(await copied(page), '12345678901234567890123');
  t.is(await row(page, /^a: /).count(), 2);
  await row(page, 'e: 1e400').waitFor();
  await row(page, '0 0.10').click({ position: { x: 60, y: 10 } });
  await page.keyboard.press('p');
  t.is(await copied(page), 'list[0].deep[0]');
  await page.getByRole('button', { name: 'Copy the value of 0' }).click();
  t.is(await copied(page), '0.10');
  await page.getByRole('button', { name: 'Copy State before the step' }).click();
  t.regex(await copied(page), /"a":1,"a":2/);
  t.deepEqual(await violationsIn(page), []);
});

browserTest('the keyboard alone opens, goes in, goes out and closes', async (t) => {
  const page = await openState(t, JSON.stringify({ first: { inner: [1, 2] }, last: 'x'.repeat(2000) }));
  await tree(page).focus();
  await page.keyboard.press('ArrowRight');
  await row(page, /^inner: /).waitFor();
  await page.keyboard.press('ArrowRight');
  t.is(await row(page, /^inner: /).getAttribute('aria-selected'), 'true');
  t.is(await row(page, /^inner: /).getAttribute('aria-level'), '2');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await row(page, /^inner: /).waitFor({ state: 'detached' });
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  t.is((await page.getByRole('region', { name: 'Text of last' }).textContent())?.length, 2000);
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a text without room in its row opens to its whole, and the rows never scroll sideways', async (t) => {
  const note = 'The shop answered 503, and is tried again in three seconds. '.repeat(3).trim();
  const page = await openState(t, JSON.stringify({ note, deep: { a: { b: { c: { d: note } } } } }));
  await row(page, /^note: /).click();
  t.is(await page.getByRole('region', { name: 'Text of note' }).textContent(), note);
  await row(page, /^note: /).click();
  await page.getByRole('region', { name: 'Text of note' }).waitFor({ state: 'detached' });
  const overflow = await tree(page).evaluate((rows) => rows.scrollWidth - rows.clientWidth);
  t.is(overflow, 0);
});

browserTest('texts that are scripts stay texts', async (t) => {
  const page = await openState(t, JSON.stringify(Object.fromEntries(scripts.map((text) => [text, text]))));
  await row(page, /script/)
    .first()
    .waitFor();
  await tree(page).focus();
  for (const _ of scripts) await page.keyboard.press('ArrowDown');
  t.false((await page.title()).includes('taken'));
});

/** About ten million characters: many items, deep ones, and long texts. */
function largeState(): string {
  const item = (id: number): unknown => ({
    id,
    name: `item ${String(id)}`,
    tags: ['a', 'b'],
    text: 'word '.repeat(26),
  });
  const many = Array.from({ length: 50_000 }, (_, id) => item(id));
  return JSON.stringify({
    many,
    long: 'sentence. '.repeat(100_000),
    needle: { in: { the: { hay: 'The-Last-Needle' } } },
  });
}

browserTest(
  'a state of ten million characters is opened, scrolled and searched without a task over 50 ms',
  async (t) => {
    const text = largeState();
    t.true(text.length > 9_000_000);
    const page = await openState(t, text);
    await row(page, /^many: /).waitFor({ timeout: 30_000 });
    // The reply is parsed by the client, in one task that is not the tree's.
    const reading = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks.splice(0));
    t.log(`the longest task while it was read took ${String(Math.max(0, ...reading))} ms`);
    await tree(page).focus();
    await page.keyboard.press('ArrowRight');
    await row(page, /^0 \{ \} id, name/).waitFor();
    for (let turn = 0; turn < 10; turn++) await page.keyboard.press('PageDown');
    await tree(page).hover();
    for (let turn = 0; turn < 10; turn++) await page.mouse.wheel(0, 20_000);
    await page.getByRole('searchbox', { name: 'Find in State before the step' }).fill('the-last-needle');
    await row(page, 'hay: "The-Last-Needle"').waitFor();
    await page.getByText('1 of 1', { exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Find in State before the step' }).fill('item 4999');
    await page.getByText(/^1 of \d+$/).waitFor();
    await page.getByRole('button', { name: 'Next found' }).click();
    await page.getByText(/^2 of \d+$/).waitFor();
    const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
    t.log(`the longest task took ${String(Math.max(0, ...tasks))} ms`);
    t.true(Math.max(0, ...tasks) <= 50 * slack());
  },
);
