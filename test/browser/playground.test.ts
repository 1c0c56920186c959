import { serve } from '../http/service.ts';
import test from 'ava';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest } from './suite.ts';

const service = serve(test, 'obedient', { JWT_SECRET_KEY: 's'.repeat(32), HOST: '127.0.0.1' });

const views = ['Chat', 'Threads', 'Runs', 'Memory'];

browserTest(
  'a browser that opens the service is led to the playground, and each view is reached by its link',
  async (t) => {
    const { page } = await openPage(t, service.url());
    t.is(new URL(page.url()).pathname, '/playground');
    for (const view of views) {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();
      await page.getByRole('main', { name: view }).waitFor();
    }
    await page.goBack();
    await page.getByRole('main', { name: 'Runs' }).waitFor();
  },
);

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in any view: ${size}, ${colorScheme}`, async (t) => {
      const { page } = await openPage(t, `${service.url()}/playground`, { size, colorScheme });
      for (const view of views) {
        await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();
        await page.getByRole('main', { name: view }).waitFor();
        t.deepEqual(await violationsIn(page), [], view);
        const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        t.true(width <= 0, `${view} is ${width} px wider than the window`);
      }
    });
  }
}

browserTest('the first paint from a cold start takes at most a second', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`);
  await page.getByRole('main').waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9);
  t.log(`first contentful paint after ${paint.toFixed(0)} ms`);
  t.true(paint <= 1000);
});

browserTest('a chat fits a phone, however long the id of its thread is', async (t) => {
  const threadId = 'long-'.repeat(24);
  const config = { thread_id: threadId };
  await service.send('POST', '/v1/graph/invoke', { messages: [{ role: 'user', content: 'hello' }], config });
  const { page } = await openPage(t, `${service.url()}/playground#/chat/${threadId}`, { size: 'phone' });
  const box = await page.getByRole('button', { name: 'Send' }).boundingBox();
  t.true(box !== null && box.x + box.width <= sizes.phone.width, JSON.stringify(box));
});

browserTest('a page that came over plain HTTP from another machine works as well', async (t) => {
  const { page } = await openPage(t, `${service.url().replace('127.0.0.1', 'agents.test')}/playground`);
  t.false(await page.evaluate(() => isSecureContext));
  await page.getByRole('textbox', { name: 'Message' }).fill('hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Completed').waitFor();
});
