import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'obedient', { JWT_SECRET_KEY: 's'.repeat(32), HOST: '127.0.0.1' });

const views = ['Chat', 'Inbox', 'Runs', 'Threads', 'Memory', 'Files', 'Agents', 'Schedules', 'Webhooks'];
/** Those that the bar of a phone has. */
const firstViews = ['Chat', 'Inbox', 'Runs', 'Threads'];

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
    await page.getByRole('main', { name: views.at(-2) ?? '' }).waitFor();
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
    [`runs/${meta.run_id}`]: 'A trip',
    memory: 'Memory',
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

browserTest('on a phone the bar has four views and More, and More the others, the theme and the token', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`, { size: 'phone' });
  await page.evaluate(() => sessionStorage.setItem('token', 'a token'));
  await page.reload();
  const bar = page.getByRole('navigation', { name: 'Views' });
  const more = bar.getByRole('button', { name: 'More' });
  await more.waitFor();
  t.deepEqual(await bar.getByRole('link').allInnerTexts(), firstViews);
  const boxes = await Promise.all((await bar.getByRole('link').or(more).all()).map((each) => each.boundingBox()));
  const middles = boxes.map((box) => (box ? box.y + box.height / 2 : NaN));
  t.true(Math.max(...middles) - Math.min(...middles) < 4, JSON.stringify(boxes));
  t.true(boxes.every((box) => box !== null && box.height >= 40 && box.x + box.width <= sizes.phone.width));
  await more.click();
  const dialog = page.getByRole('dialog', { name: 'More' });
  await dialog.getByRole('link', { name: 'Docs' }).waitFor();
  const rest = views.filter((view) => !firstViews.includes(view));
  t.deepEqual(await dialog.getByRole('link').allInnerTexts(), [...rest, 'Docs']);
  await dialog.getByRole('button', { name: 'Change token' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await dialog.getByRole('link', { name: 'Memory' }).click();
  await page.getByRole('main', { name: 'Memory' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
});

browserTest('between a desk and a phone the rail has signs, whose names come with the focus', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`);
  await page.setViewportSize({ width: 1000, height: 800 });
  const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Runs' });
  t.true(((await link.boundingBox())?.width ?? 999) < 60);
  const opacity = (): Promise<string> => link.locator('span').evaluate((name) => getComputedStyle(name).opacity);
  t.is(await opacity(), '0');
  await page.keyboard.press('Tab');
  await link.focus();
  t.is(await opacity(), '1');
  t.deepEqual(await violationsIn(page), []);
});

browserTest('the theme follows the system until one is chosen, which is kept', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`);
  const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await ground();
  t.not(dark, light);
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  t.is(await ground(), light);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.emulateMedia({ colorScheme: 'light' });
  t.is(await ground(), dark);
  await page.getByRole('button', { name: 'Theme: dark' }).click();
  await page.getByRole('button', { name: 'Theme: system' }).waitFor();
  t.is(await ground(), light);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in any view: ${size}, ${colorScheme}`, async (t) => {
      const { page } = await openPage(t, `${service.url()}/playground`, { size, colorScheme });
      for (const view of views) {
        await page.evaluate((to) => {
          location.hash = `#/${to}`;
        }, view.toLowerCase());
        await page.getByRole('main', { name: view }).getByRole('heading', { level: 1 }).waitFor();
        t.deepEqual(await violationsIn(page), [], view);
        const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        t.true(width <= 0, `${view} is ${width} px wider than the window`);
      }
    });
  }
}

browserTest('the first view comes in at most 120 KB, with all that it loads', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground`);
  await page.getByRole('textbox', { name: 'Message' }).waitFor();
  await page.waitForLoadState('networkidle');
  const parts = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter(({ name }) => /\.(js|css)$/.test(name))
      .map(({ name, encodedBodySize: size }) => ({ name: name.replace(/.*\//, ''), size })),
  );
  const bytes = parts.reduce((sum, { size }) => sum + size, 0);
  t.log(`${(bytes / 1000).toFixed(0)} KB: ${parts.map(({ name, size }) => `${name} ${String(size)}`).join(', ')}`);
  t.true(bytes > 10_000 && bytes <= 120_000, `${String(bytes)} bytes`);
});

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
