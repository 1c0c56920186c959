import test from 'ava';
import { openPage } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'choosing');

browserTest('a field of the initial state offers the values of its schema, and its bounds are checked', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  await page.getByText('Options').click();
  await page.getByRole('combobox', { name: 'season' }).selectOption('summer');
  await page.getByRole('combobox', { name: 'town' }).selectOption('Porto');
  await page.getByLabel('days').fill('31');
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill('hello');
  await box.press('Control+Enter');
  await page.getByRole('alert').filter({ hasText: 'days must be at most 30' }).waitFor();
  await page.getByLabel('days').fill('30');
  await box.press('Control+Enter');
  const answer = page.getByRole('region', { name: 'Messages' }).getByText('In summer, for 30 days, to Porto.');
  await answer.waitFor();
  t.true(await answer.isVisible());
});
