import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);

const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('An umbrella') };

for (const size of ['desktop', 'phone'] as const) {
  browserTest(`a file is sent, stands in the list after a reload, and is deleted: ${size}`, async (t) => {
    const { page } = await openPage(t, `${service.url()}/playground#/files`, { size });
    await page.getByRole('heading', { name: 'No file yet' }).waitFor();
    t.deepEqual(await violationsIn(page), []);
    await page.locator('input[type=file]').setInputFiles(notes);
    await page.getByRole('link', { name: /^notes\.txt/ }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: /^notes\.txt/ }).click();
    await page.getByRole('heading', { name: 'notes.txt', level: 1 }).waitFor();
    await page.getByRole('article', { name: 'File' }).getByText('11 B').waitFor();
    t.deepEqual(await violationsIn(page), []);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save' }).click();
    t.is((await saved).suggestedFilename(), 'notes.txt');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete …' }).click();
    await page.getByRole('button', { name: 'Delete the file' }).click();
    await page.getByRole('heading', { name: 'No file yet' }).waitFor();
  });
}

browserTest(
  'a file that this browser has not sent is found by its id, and one that is not there says so',
  async (t) => {
    const { file_id: id } = await createClient({ url: service.url() }).files.upload(new Blob(['one']));
    const { page } = await openPage(t, `${service.url()}/playground#/files`, { expected: [/404/] });
    const box = page.getByRole('searchbox', { name: 'Find by id' });
    await box.fill(id);
    await box.press('Enter');
    await page.getByRole('article', { name: 'File' }).getByText('3 B').waitFor();
    await box.fill('nothing-here');
    await box.press('Enter');
    const alert = page.getByRole('article', { name: 'File' }).getByRole('alert');
    await alert.waitFor();
    t.is(await alert.getByRole('button', { name: 'Try again' }).count(), 0);
  },
);
