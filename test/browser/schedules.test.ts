import { createClient, type Client } from '@agent-workflow/client';
import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test);

const clientOf = (): Client => createClient({ url: service.url() });
const run = { messages: [{ role: 'user', content: 'Sum up the prices of the week' }] } as const;
const page = (t: Parameters<typeof openPage>[0], hash = '', options: Parameters<typeof openPage>[2] = {}) =>
  openPage(t, `${service.url()}/playground#/schedules${hash}`, options);

browserTest('without a schedule the page says what one is, and its first action makes one', async (t) => {
  const { page: tab } = await page(t);
  await tab.getByRole('heading', { name: 'No schedule yet' }).waitFor();
  t.deepEqual(await violationsIn(tab), []);
  await tab.getByRole('button', { name: 'Make a schedule' }).click();
  const dialog = tab.getByRole('dialog', { name: 'New schedule' });
  await dialog.getByRole('textbox', { name: /^Message/ }).fill('Which parcels are late?');
  await dialog.getByRole('combobox', { name: 'When' }).selectOption('At an interval');
  await dialog.getByRole('spinbutton', { name: 'Every' }).fill('2');
  t.deepEqual(await violationsIn(tab), []);
  await dialog.getByRole('button', { name: 'Make the schedule' }).click();
  await tab.getByRole('heading', { name: 'Which parcels are late?', level: 1 }).waitFor();
  await tab.getByRole('link', { name: /^active Which parcels are late\?/ }).waitFor();
  const [made] = (await clientOf().schedules.list()).schedules;
  t.like(made, { every_seconds: 7200, status: 'active' });
  await clientOf().schedules.delete(made?.schedule_id ?? '');
});

browserTest('a time that no calendar has is refused in words, and what was typed stays', async (t) => {
  const { page: tab } = await page(t, '', { expected: [/422/] });
  await tab.getByRole('button', { name: 'Make a schedule' }).click();
  const dialog = tab.getByRole('dialog', { name: 'New schedule' });
  await dialog.getByRole('textbox', { name: /^Message/ }).fill('hello');
  const boxOf = (role: 'textbox' | 'combobox', name: RegExp) => dialog.getByRole(role, { name }).boundingBox();
  const [message, when] = [await boxOf('textbox', /^Message/), await boxOf('combobox', /^When/)];
  const [cron, zone] = [await boxOf('textbox', /^Cron expression/), await boxOf('textbox', /^Time zone/)];
  t.is(cron?.y, zone?.y);
  t.true((when?.y ?? 0) - (message?.y ?? 0) - (message?.height ?? 0) < 80, 'no empty space stands below a field');
  await dialog.getByRole('textbox', { name: /^Cron expression/ }).fill('0 0 30 2 *');
  await dialog.getByRole('button', { name: 'Make the schedule' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'cron' }).waitFor();
  t.is(await dialog.getByRole('textbox', { name: /^Message/ }).inputValue(), 'hello');
});

browserTest('a schedule is run now, paused, resumed, backfilled, changed and deleted', async (t) => {
  const { schedule_id: id } = await clientOf().schedules.create({ name: 'Prices', cron: '0 * * * *', run });
  const { page: tab } = await page(t, `/${id}`);
  await tab.getByRole('heading', { name: 'Prices', level: 1 }).waitFor();
  t.is(await tab.getByRole('region', { name: 'Next times' }).getByRole('listitem').count(), 10);
  await tab.getByRole('button', { name: 'Run now' }).click();
  await tab.getByRole('status', { name: 'Notices' }).getByText('A run starts within moments.').waitFor();
  const started = tab.getByRole('region', { name: 'Last runs' }).getByRole('link');
  await started.first().waitFor();
  t.regex((await started.first().getAttribute('href')) ?? '', /^#\/runs\//);

  await tab.getByRole('button', { name: 'Pause' }).click();
  await tab.getByText('It starts none until it is resumed.').waitFor();
  t.is((await clientOf().schedules.get(id)).status, 'paused');
  await tab.getByRole('button', { name: 'Resume' }).click();
  await tab.getByRole('button', { name: 'Pause' }).waitFor();

  const choose = async (action: string): Promise<void> => {
    await tab.getByRole('button', { name: 'More actions' }).click();
    await tab.getByRole('menuitem', { name: action }).click();
  };
  await choose('Backfill …');
  const backfill = tab.getByRole('dialog', { name: 'Backfill' });
  await backfill.getByLabel('From').fill('2026-01-05T08:30');
  await backfill.getByLabel('To').fill('2026-01-05T10:30');
  await backfill.getByRole('button', { name: 'Start the runs' }).click();
  await tab.getByText('2 runs start within moments.').waitFor();

  await choose('Edit …');
  const edit = tab.getByRole('dialog', { name: 'Edit the schedule' });
  await edit.getByRole('textbox', { name: /^Name/ }).fill('Prices of the day');
  await edit.getByRole('button', { name: 'Save' }).click();
  await tab.getByRole('heading', { name: 'Prices of the day', level: 1 }).waitFor();
  t.like(await clientOf().schedules.get(id), { cron: '0 * * * *', name: 'Prices of the day' });

  await choose('Delete …');
  await tab.getByRole('button', { name: 'Delete the schedule' }).click();
  await tab.getByRole('heading', { name: 'No schedule yet' }).waitFor();
  t.deepEqual((await clientOf().schedules.list()).schedules, []);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in an open schedule: ${size}, ${colorScheme}`, async (t) => {
      const { schedule_id: id } = await clientOf().schedules.create({ name: 'Looked at', cron: '@daily', run });
      const { page: tab } = await page(t, `/${id}`, { size, colorScheme });
      await tab.getByRole('heading', { name: 'Looked at', level: 1 }).waitFor();
      await tab.getByRole('region', { name: 'Next times' }).waitFor();
      t.deepEqual(await violationsIn(tab), []);
      await tab.getByRole('button', { name: 'More actions' }).click();
      t.deepEqual(await violationsIn(tab), []);
      const width = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
      await clientOf().schedules.delete(id);
    });
  }
}
