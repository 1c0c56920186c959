import { createClient } from '@agent-workflow/client';
import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);

const isOpen = (page: Page, view: string): Promise<void> => page.getByRole('main', { name: view }).waitFor();

/** Opens the list of runs, where no box has the focus. */
async function openRuns(
  t: Parameters<typeof openPage>[0],
  options: Parameters<typeof openPage>[2] = {},
): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/runs`, options);
  await page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
  return page;
}

browserTest('G and a letter go to a view, and neither does anything in a box that somebody writes in', async (t) => {
  const page = await openRuns(t);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await isOpen(page, 'Threads');
  const search = page.getByRole('search', { name: 'Threads' }).getByRole('searchbox', { name: 'Search' });
  await search.waitFor();
  await page.keyboard.press('/');
  t.true(await search.evaluate((box) => box === document.activeElement));
  await page.keyboard.type('gr?');
  t.is(await search.inputValue(), 'gr?');
  await isOpen(page, 'Threads');
});

browserTest('the palette finds a view, an action and a thread by its words, and the keyboard opens it', async (t) => {
  const config = { thread_id: 'of-the-palette', thread_name: 'Kettles under €60' };
  await createClient({ url: service.url() }).invoke({ messages: [{ role: 'user', content: 'hello' }], config });
  const page = await openRuns(t);
  await page.keyboard.press('Control+k');
  const box = page.getByRole('combobox', { name: 'Find or do' });
  await box.fill('agents');
  await page.getByRole('option', { name: 'Agents', exact: false }).first().waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('Enter');
  await isOpen(page, 'Agents');

  await page.keyboard.press('Control+k');
  await box.fill('60 kettles');
  await page.getByRole('option', { name: 'Kettles under €60 Thread' }).click();
  await page.getByRole('heading', { name: 'Kettles under €60', level: 1 }).waitFor();

  await page.keyboard.press('Control+k');
  await box.fill('run completed kettles');
  await page.getByRole('option', { name: /Kettles under €60/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Run' }).waitFor();

  await page.keyboard.press('Control+k');
  await box.fill('list the k');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await box.fill('nothing has these words');
  await page.getByRole('status').getByText('Nothing here has these words.').waitFor();
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'detached' });
});

browserTest('the palette finds a thread that is older than those it offers, and the docs', async (t) => {
  const client = createClient({ url: service.url() });
  const named = (name: string) => ({
    messages: [{ role: 'user' as const, content: 'hello' }],
    config: { thread_name: name },
  });
  await client.invoke(named('Refund for Ada Lovelace'));
  for (let count = 0; count < 21; count++) await client.invoke(named(`Newer ${String(count)}`));
  const page = await openRuns(t);
  await page.keyboard.press('Control+k');
  const box = page.getByRole('combobox', { name: 'Find or do' });
  await page.getByRole('option', { name: 'Newer 20 Thread' }).waitFor();
  t.is(await page.getByRole('option', { name: /Lovelace/ }).count(), 0);
  await box.fill('ada lovelace');
  await page.getByRole('option', { name: 'Refund for Ada Lovelace Thread' }).waitFor();
  t.is(await page.getByRole('option', { name: /Lovelace/ }).count(), 2);
  t.deepEqual(await violationsIn(page), []);
  await box.fill('docs');
  await page.getByRole('option', { name: 'Docs Go to' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs$/);
});

browserTest('? lists the keys of the view, and single keys can be switched off, which is kept', async (t) => {
  const page = await openRuns(t);
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard' });
  await dialog.getByRole('row', { name: 'New chat' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await dialog.getByRole('checkbox', { name: 'Single keys do something' }).uncheck();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.reload();
  await isOpen(page, 'Runs');
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.keyboard.press('?');
  t.is(await dialog.count(), 0);
  await isOpen(page, 'Runs');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find or do' }).waitFor();
});

browserTest('J and K go from row to row, Enter opens one, and Escape comes back to it', async (t) => {
  for (const name of ['First', 'Second', 'Third'])
    await createClient({ url: service.url() }).invoke({
      messages: [{ role: 'user', content: 'hello' }],
      config: { thread_id: `row-${name}`, thread_name: name },
    });
  const { page } = await openPage(t, `${service.url()}/playground#/threads`, { size: 'phone' });
  await page.getByRole('link', { name: /Third/ }).waitFor();
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? '');
  await page.keyboard.press('j');
  t.regex(await focused(), /Third/);
  await page.keyboard.press('j');
  t.regex(await focused(), /Second/);
  await page.keyboard.press('ArrowDown');
  t.regex(await focused(), /First/);
  await page.keyboard.press('k');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Second', level: 1 }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: /Second/ }).waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent.includes('Second'));
});
