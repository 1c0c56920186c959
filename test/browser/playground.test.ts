import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'obedient', { JWT_SECRET_KEY: 's'.repeat(32), HOST: '127.0.0.1' });

const views = ['Chat', 'Threads', 'Runs', 'Memory', 'Agents'];

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
    await page.getByRole('main', { name: 'Memory' }).waitFor();
  },
);

browserTest('the title of the page names what is open', async (t) => {
  const config = { thread_id: 'titled', thread_name: 'A trip' };
  const { meta } = await createClient({ url: service.url() }).invoke({
    messages: [{ role: 'user', content: 'hello' }],
    config,
  });
  const { page } = await openPage(t, `${service.url()}/playground`);
  const base = await page.title();
  const titles = {
    threads: 'Threads',
    'threads/titled': 'A trip',
    runs: 'Runs',
    [`runs/${meta.run_id}`]: `Run ${meta.run_id}`,
    memory: 'Memory',
    'memory?tab=all': 'All memories',
    agents: 'Agents',
  };
  for (const [hash, title] of Object.entries(titles)) {
    await page.evaluate((to) => {
      location.hash = `#/${to}`;
    }, hash);
    await page.waitForFunction((wanted) => document.title === wanted, `${title} · ${base}`);
  }
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.waitForFunction((wanted) => document.title === wanted, base);
  t.is(await page.title(), base);
});

browserTest('an address that names no page says so', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/nope`);
  await page.getByRole('alert').filter({ hasText: 'There is no page “nope”.' }).waitFor();
  t.regex(await page.title(), /^No such page/);
  t.is(await page.getByRole('navigation', { name: 'Views' }).locator('[aria-current]').count(), 0);
  t.deepEqual(await violationsIn(page), []);
  await page.getByRole('link', { name: 'Begin a new chat' }).click();
  await page.getByRole('heading', { name: 'New chat' }).waitFor();
});

browserTest('on a phone the links to the views and the button for the token stand in one line', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`, { size: 'phone' });
  await page.evaluate(() => sessionStorage.setItem('token', 'a token'));
  await page.reload();
  const header = page.getByRole('banner');
  await header.getByRole('button', { name: 'Change token' }).waitFor();
  t.deepEqual(await header.getByRole('link').allInnerTexts(), ['Skip to the content', ...views, 'Docs']);
  const inLine = header.getByRole('link', { name: /^(?!Skip)/ }).or(header.getByRole('button'));
  const boxes = await Promise.all((await inLine.all()).map((each) => each.boundingBox()));
  t.is(boxes.length, views.length + 2);
  const middles = boxes.map((box) => (box ? box.y + box.height / 2 : NaN));
  t.true(Math.max(...middles) - Math.min(...middles) < 4, JSON.stringify(boxes));
  t.true(boxes.every((box) => box !== null && box.height >= 24 && box.x + box.width <= sizes.phone.width));
  t.deepEqual(await violationsIn(page), []);
});

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
