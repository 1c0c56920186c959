import { createClient, type Client } from '@agent-workflow/client';
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openGate, type Gate } from '../servers/gate.ts';
import { openPage, sizes, violationsIn, type PageOptions } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'touring');
const client = (): Client => createClient({ url: service.url() });

/** Starts a run that does what the order says. */
async function start(order: string, gate?: Gate): Promise<string> {
  const { run_id: id } = await client().runs.start({
    messages: [{ role: 'user', content: order }],
    config: gate ? { gate: gate.url } : {},
  });
  return id;
}

/** A run that has ended, however it did. */
async function ended(order: string): Promise<string> {
  const id = await start(order);
  await client()
    .runs.wait(id)
    .catch(() => undefined);
  return id;
}

const open = async (t: ExecutionContext, hash: string, options?: PageOptions): Promise<Page> =>
  (await openPage(t, `${service.url()}/playground#/runs${hash}`, options)).page;

const list = (page: Page): Locator => page.getByRole('region', { name: 'List of runs' });

/** The row of a run: the whole of it is a link. */
const rowOf = (page: Page, id: string): Locator => list(page).locator(`a[href="#/runs/${id}"]`);

browserTest('a row says what a run is about and why it stands where it stands', async (t) => {
  const runs = { completed: await ended('plan 1'), failed: await ended('fall'), interrupted: await ended('ask') };
  const sleeping = await start('nap 600000');
  const page = await open(t, '');
  const texts = {
    completed: /completed.*plan 1/,
    failed: /failed.*fall.*the stone lay there/,
    interrupted: /waiting.*ask/,
  };
  for (const [status, id] of Object.entries(runs))
    t.regex((await rowOf(page, id).textContent()) ?? '', texts[status as keyof typeof texts]);
  t.regex((await rowOf(page, sleeping).textContent()) ?? '', /sleeping.*nap 600000.*sleeps at nap/);
  await list(page)
    .getByRole('heading', { name: /^Today/ })
    .waitFor();
  t.deepEqual(await violationsIn(page), []);

  const status = page.getByRole('combobox', { name: 'Status' });
  await status.selectOption('Failed');
  await rowOf(page, runs.completed).waitFor({ state: 'detached' });
  await rowOf(page, runs.failed).waitFor();
  await page.reload();
  await rowOf(page, runs.failed).waitFor();
  t.is(await status.inputValue(), 'failed');
  await status.selectOption('Under way');
  await rowOf(page, sleeping).waitFor();
  t.is(await rowOf(page, runs.failed).count(), 0);
  await client().runs.cancel(sleeping);
});

browserTest('a failed run is found by its error, its node and its day, and the chart counts it', async (t) => {
  const [fell, planned] = [await ended('fall'), await ended('plan 1')];
  const page = await open(t, '');
  await rowOf(page, planned).waitFor();
  await page.getByRole('img', { name: /^Runs a day/ }).waitFor();
  await page.keyboard.press('/');
  await page.getByRole('searchbox', { name: 'Search' }).fill('STONE lay');
  await rowOf(page, planned).waitFor({ state: 'detached' });
  await rowOf(page, fell).waitFor();
  await page.waitForURL((url) => url.hash === '#/runs?search=STONE+lay');
  await page.getByRole('searchbox', { name: 'Search' }).fill('');
  await page.getByText('Filter', { exact: true }).click();
  const form = page.getByRole('form', { name: 'More filters' });
  await form.getByRole('textbox', { name: /^Node/ }).fill('stumble');
  t.deepEqual(await violationsIn(page), []);
  await form.getByRole('button', { name: 'Show' }).click();
  await rowOf(page, planned).waitFor({ state: 'detached' });
  await rowOf(page, fell).waitFor();
  await page.getByRole('button', { name: 'at stumble : remove this filter' }).click();
  await rowOf(page, planned).waitFor();
  await page.getByText('As a table').click();
  await page.getByRole('region', { name: 'Runs by day' }).getByRole('link').first().click();
  await page.waitForURL(/from=\d{4}-\d\d-\d\d&to=/);
  await rowOf(page, fell).waitFor();
});

for (const size of ['desktop', 'phone'] as const)
  browserTest(`further filters open inside of the window: ${size}`, async (t) => {
    await ended('plan 1');
    const page = await open(t, '', { size });
    await page.getByText('Filter', { exact: true }).click();
    const form = page.getByRole('form', { name: 'More filters' });
    for (const element of [form, form.getByRole('button', { name: 'Show' }), form.getByLabel(/^Error/)]) {
      await element.scrollIntoViewIfNeeded();
      const box = await element.boundingBox();
      t.true(box !== null && box.x >= 0 && box.x + box.width <= sizes[size].width, JSON.stringify(box));
      t.true(box !== null && box.y >= 0 && box.y + box.height <= sizes[size].height, JSON.stringify(box));
    }
    t.deepEqual(await violationsIn(page), []);
  });

browserTest('a run that was answered waits no longer, in the list of what waits and in that of all', async (t) => {
  const [answered, waiting] = [await ended('ask'), await ended('ask')];
  const page = await open(t, '?status=interrupted');
  await rowOf(page, answered).waitFor();
  const { thread_id: threadId } = await client().runs.get(answered);
  await client().invoke({ resume: 'yes', config: { thread_id: threadId } });
  await page.reload();
  await rowOf(page, waiting).waitFor();
  t.is(await rowOf(page, answered).count(), 0);
  t.is(await page.getByRole('button', { name: 'Load more runs' }).count(), 0);
  await page.getByRole('link', { name: 'All', exact: true }).click();
  t.regex((await rowOf(page, answered).textContent()) ?? '', /waits no longer/);
  t.regex((await rowOf(page, waiting).textContent()) ?? '', /asks: Shall it go on/);
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a selection is saved under a name, comes back after a reload, and is removed', async (t) => {
  await ended('plan 1');
  const page = await open(t, '?status=stopped&days=7&agent=nobody');
  await page.getByRole('heading', { name: 'No run is as you ask' }).waitFor();
  await page.getByRole('button', { name: 'Save filter' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save this filter' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Stopped lately');
  t.deepEqual(await violationsIn(page), []);
  await dialog.getByRole('button', { name: 'Save' }).click();
  const saved = page.getByRole('navigation', { name: 'Saved filters' });
  await saved.getByRole('link', { name: 'All', exact: true }).click();
  await list(page).waitFor();
  await page.reload();
  await saved.getByRole('link', { name: 'Stopped lately' }).click();
  await page.waitForURL(/status=stopped/);
  await page.getByRole('button', { name: 'Remove filter' }).click();
  await saved.getByRole('link', { name: 'Stopped lately' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Look at any time' }).click();
  await page.waitForURL((url) => !url.hash.includes('days'));
});

browserTest('a status that there is not is named and lists no run, until one that there is is chosen', async (t) => {
  const id = await ended('plan 1');
  const page = await open(t, '?status=bogus');
  await page
    .getByRole('alert')
    .getByText(/no status “bogus”/)
    .waitFor();
  t.is(await list(page).count(), 0);
  t.is(await page.getByRole('combobox', { name: 'Status' }).inputValue(), 'bogus');
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Completed');
  await rowOf(page, id).waitFor();
});

browserTest('a run is stopped from the list after a question, and not when the question is left', async (t) => {
  await using gate = await openGate();
  const id = await start('wait', gate);
  await gate.visited(1);
  const page = await open(t, '');
  const stop = page.getByRole('button', { name: `Stop run ${id}` });
  await rowOf(page, id).hover();
  await stop.click();
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  t.is((await client().runs.get(id)).status, 'running');
  await stop.click();
  await page.getByRole('dialog', { name: 'Stop this run?' }).getByRole('button', { name: 'Stop the run' }).click();
  await rowOf(page, id).getByText('stopped', { exact: true }).first().waitFor();
  t.is((await client().runs.get(id)).status, 'stopped');
});

browserTest('what is new waits while somebody reads, and what is listed is shown as it is', async (t) => {
  await using gate = await openGate();
  const waiting = await start('wait', gate);
  await gate.visited(1);
  const page = await open(t, '');
  await rowOf(page, waiting).getByText('running', { exact: true }).waitFor();
  await rowOf(page, waiting).focus();
  const fresh = await ended('plan 1');
  const shown = page.getByRole('button', { name: '1 new' });
  await shown.waitFor();
  t.is(await rowOf(page, fresh).count(), 0);
  gate.open();
  await rowOf(page, waiting).getByText('completed', { exact: true }).waitFor();
  await shown.click();
  await rowOf(page, fresh).waitFor();
});

browserTest('a list of more than a page goes on by itself, and the keyboard alone goes through it', async (t) => {
  const first = await ended('plan 1');
  for (let made = 0; made < 110; made += 10)
    await client().runs.startAll(
      Array.from({ length: 10 }, () => ({ messages: [{ role: 'user', content: 'plan 1' }] })),
    );
  const page = await open(t, '');
  await list(page).getByRole('link').first().waitFor();
  t.is(await rowOf(page, first).count(), 0);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const second = await page.evaluate(() => document.activeElement?.getAttribute('href'));
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  t.is(await page.evaluate(() => document.activeElement?.getAttribute('href')), second);
  await list(page).focus();
  for (let press = 0; press < 20 && (await rowOf(page, first).count()) === 0; press++) {
    await page.keyboard.press('End');
    await page.waitForTimeout(300);
  }
  await rowOf(page, first).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash === `#/runs/${first}`);
  await page.getByRole('article', { name: 'Run' }).waitFor();
  await page.goBack();
  await page.waitForFunction((href) => document.activeElement?.getAttribute('href') === href, `#/runs/${first}`);
  t.true(await rowOf(page, first).isVisible(), 'the way back leads to the row, however far down it is');
});

browserTest('the way back from a run of a selection leads to the selection, and to the row', async (t) => {
  const fell = await ended('fall');
  const page = await open(t, '?status=failed', { size: 'phone' });
  await rowOf(page, fell).click();
  await page.getByRole('link', { name: 'Back to Runs' }).first().click();
  await page.waitForURL((url) => url.hash === '#/runs?status=failed');
  await page.waitForFunction((href) => document.activeElement?.getAttribute('href') === href, `#/runs/${fell}`);
  await page.getByRole('combobox', { name: 'Status' }).selectOption('Completed');
  await rowOf(page, fell).waitFor({ state: 'detached' });
  t.is(await rowOf(page, fell).count(), 0);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in the list of runs, and it fits: ${size}, ${colorScheme}`, async (t) => {
      const id = await ended('fall');
      const page = await open(t, '', { size, colorScheme });
      await rowOf(page, id).waitFor();
      t.deepEqual(await violationsIn(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0);
    });
  }
}
