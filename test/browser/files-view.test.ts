import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);

const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('An umbrella') };

/** The service has one reader: what a test has sent is gone before the next one begins. */
const client = () => createClient({ url: service.url() });

async function deleteAll(): Promise<void> {
  for (const { file_id: id } of (await client().files.list({ limit: 1000 })).files) await client().files.delete(id);
}

test.afterEach.always(deleteAll);

for (const size of ['desktop', 'phone'] as const) {
  browserTest(
    `a file is sent, listed in any browser, saved, and deleted unless that is taken back: ${size}`,
    async (t) => {
      const { page } = await openPage(t, `${service.url()}/playground#/files`, { size });
      await page.getByRole('heading', { name: 'No file yet' }).waitFor();
      t.false(await page.getByRole('heading', { name: 'No file is open' }).isVisible(), 'one empty state at a time');
      t.deepEqual(await violationsIn(page), []);
      await page.locator('input[type=file]').setInputFiles(notes);
      await page.getByRole('link', { name: /^notes\.txt/ }).waitFor();
      await page.evaluate(() => localStorage.clear());
      await page.reload();
      await page.getByRole('link', { name: /^notes\.txt/ }).click();
      await page.getByRole('heading', { name: 'notes.txt', level: 1 }).waitFor();
      await page.getByRole('article', { name: 'File' }).getByText('11 B').waitFor();
      await page.getByRole('region', { name: 'Text' }).getByText('An umbrella').waitFor();
      t.deepEqual(await violationsIn(page), []);
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Save' }).click();
      t.is((await saved).suggestedFilename(), 'notes.txt');

      const remove = async (): Promise<void> => {
        await page.getByRole('button', { name: 'More actions' }).click();
        await page.getByRole('menuitem', { name: 'Delete' }).click();
        await page.getByRole('heading', { name: 'No file yet' }).waitFor();
      };
      await remove();
      t.deepEqual(await violationsIn(page), []);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('heading', { name: 'notes.txt', level: 1 }).waitFor();
      t.is((await client().files.list()).files.length, 1);
      await remove();
      await page.getByRole('button', { name: 'Dismiss' }).click();
      await page.getByRole('heading', { name: 'No file yet' }).waitFor();
      for (let left = 1; left > 0;) left = (await client().files.list()).files.length;
      t.pass();
    },
  );
}

browserTest('a file that is refused is named, and the others are sent, also when their list is left', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/files`, { expected: [/413/] });
  await page.getByRole('heading', { name: 'No file yet' }).waitFor();
  let go = (): void => undefined;
  const isLeft = new Promise<void>((done) => {
    go = done;
  });
  let sent = 0;
  await page.route('**/v1/files/upload', async (route) => {
    sent++;
    if (sent === 1) return route.fulfill({ status: 413, json: { success: false, error: { message: 'Too large' } } });
    await isLeft;
    return route.fallback();
  });
  const files = ['large.txt', 'one.txt', 'two.txt'].map((name) => ({ ...notes, name }));
  await page.locator('input[type=file]').setInputFiles(files);
  await page.getByText('Not sent: large.txt').waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.goto(`${service.url()}/playground#/threads`);
  await page.getByRole('main', { name: 'Threads' }).waitFor();
  go();
  await page.goto(`${service.url()}/playground#/files`);
  for (const name of ['one.txt', 'two.txt']) await page.getByRole('link', { name: new RegExp(`^${name}`) }).waitFor();
  t.is(sent, 3);
});

browserTest('a deleted file says so to whoever comes back to it, and may be gone already', async (t) => {
  const { file_id: id } = await client().files.upload(new File(['one'], 'one.txt', { type: 'text/plain' }));
  const { page } = await openPage(t, `${service.url()}/playground#/files/${id}`, { expected: [/404/] });
  await page.getByRole('heading', { name: 'one.txt', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'No file yet' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'This file is deleted' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await client().files.delete(id);
  const reply = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  t.is((await reply).status(), 404);
  await page.keyboard.press('Escape');
  await page.getByRole('heading', { name: 'No file yet' }).waitFor();
  t.is(await page.getByText('Not deleted').count(), 0);
});

browserTest('a deletion is done when the page is closed before its notice has gone', async (t) => {
  const { file_id: id } = await client().files.upload(new File(['one'], 'one.txt', { type: 'text/plain' }));
  const { page } = await openPage(t, `${service.url()}/playground#/files/${id}`);
  await page.getByRole('heading', { name: 'one.txt', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'No file yet' }).waitFor();
  await page.close();
  for (let left = 1; left > 0;) left = (await client().files.list()).files.length;
  t.pass();
});

browserTest('files are found by name, id, kind and time, and the address says by which', async (t) => {
  const { file_id: id } = await client().files.upload(new File(['one'], 'Plan of March.md', { type: 'text/markdown' }));
  await client().files.upload(new File(['two'], 'رسالة طويلة.txt', { type: 'text/plain' }));
  await client().files.upload(new File([new Uint8Array([1, 2, 3])], 'x'.repeat(240)));
  const { page } = await openPage(t, `${service.url()}/playground#/files`, { expected: [/404/] });
  const rows = page.getByRole('region', { name: 'Files' }).locator('[data-row]');
  await page.getByRole('link', { name: /^Plan of March/ }).waitFor();
  t.is(await rows.count(), 3);
  t.deepEqual(await violationsIn(page), []);
  const box = page.getByRole('search', { name: 'Files' }).getByRole('searchbox');
  const shows = async (count: number): Promise<void> => {
    await page.waitForFunction((n) => document.querySelectorAll('.file-rows [data-row]').length === n, count);
  };
  await box.fill('PLAN of');
  await shows(1);
  t.regex(page.url(), /search=PLAN/);
  await box.fill(id);
  await shows(1);
  await box.fill('');
  await shows(3);
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('text');
  await shows(2);
  await page.getByRole('combobox', { name: 'Kind' }).selectOption('video');
  await page.getByRole('heading', { name: 'No file is as you ask' }).waitFor();
  await page.getByRole('link', { name: 'Show all files' }).click();
  await page.getByRole('combobox', { name: 'Time' }).selectOption('1');
  await shows(3);
  await page.goto(`${service.url()}/playground#/files/nothing-here`);
  const alert = page.getByRole('article', { name: 'File' }).getByRole('alert');
  await alert.waitFor();
  t.is(await alert.getByRole('button', { name: 'Try again' }).count(), 0);
});
