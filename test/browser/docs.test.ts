import test, { type ExecutionContext } from 'ava';
import type { Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const open = servePages(test);
const signedIn = servePages(test, 'obedient', { HOST: '127.0.0.1', JWT_SECRET_KEY: 's'.repeat(32) }, { auth: 'jwt' });

/** Each size and each colour once: what is wrong with a page hangs on the one or on the other. */
const appearances = [
  { size: 'desktop', colorScheme: 'light' },
  { size: 'phone', colorScheme: 'dark' },
] as const;

async function fits(t: ExecutionContext, page: Page, what: string): Promise<void> {
  t.deepEqual(await violationsIn(page), [], what);
  const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  t.true(width <= 0, `${what} is ${String(width)} px wider than the window`);
}

/** The text that the keyboard stands on. */
const focused = async (page: Page): Promise<string> =>
  await page.evaluate(() => document.activeElement?.textContent.trim() ?? '');

for (const appearance of appearances)
  browserTest(
    `axe finds nothing in any page of the guide: ${appearance.size}, ${appearance.colorScheme}`,
    async (t) => {
      const { page } = await openPage(t, `${open.url()}/docs`, appearance);
      const links = await page.getByRole('navigation').getByRole('link').all();
      const paths = await Promise.all(links.map(async (link) => (await link.getAttribute('href')) ?? ''));
      t.true(paths.length >= 12, 'every topic is linked');
      for (const path of paths.filter((each) => each !== '/docs/api')) {
        await page.goto(`${open.url()}${path}`);
        await fits(t, page, path);
      }
    },
  );

browserTest('the guide is read by the keyboard: past its topics to the text, and from topic to topic', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs`);
  await page.keyboard.press('Tab');
  t.is(await focused(page), 'Skip to the text');
  await page.keyboard.press('Enter');
  t.is(await page.evaluate(() => document.activeElement?.tagName), 'MAIN');
  await page.getByRole('navigation').getByRole('link', { name: 'Memory' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Memory', level: 1 }).waitFor();
  t.is(await page.getByRole('navigation').locator('[aria-current=page]').textContent(), 'Memory');
  await page.getByRole('link', { name: 'List and forget' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash === '#list-and-forget');
});

for (const size of ['desktop', 'phone'] as const) {
  browserTest(
    `axe finds nothing in the reference of the API, nor in a request that is tried in it: ${size}`,
    async (t) => {
      const { page } = await openPage(t, `${open.url()}/docs/api`, { size });
      const operation = page.getByRole('button', { name: /GET \/v1\/threads\b.*List threads/ });
      await operation.waitFor();
      await fits(t, page, 'the list of operations');
      await operation.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Try it out' }).focus();
      await fits(t, page, 'an operation');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Execute' }).waitFor();
      await fits(t, page, 'the form of a request');
      await page.getByRole('button', { name: 'Execute' }).focus();
      await page.keyboard.press('Enter');
      await page.getByText('Server response').waitFor();
      await page.getByText('"threads": [],').waitFor();
      await fits(t, page, 'a reply');
      await page.waitForURL((url) => url.hash === '#/threads/listThreads');
    },
  );
}

browserTest('the address of an operation opens it', async (t) => {
  const { page } = await openPage(t, `${open.url()}/docs/api#/graph/invokeGraph`);
  await page.getByRole('button', { name: 'Try it out' }).waitFor();
  await fits(t, page, 'an operation with a body');
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('textbox', { name: 'Body of the request' }).waitFor();
  await fits(t, page, 'the form of a body');
});

browserTest('a reader of the reference gives a token by the keyboard, where callers must authenticate', async (t) => {
  const { page } = await openPage(t, `${signedIn.url()}/docs/api`);
  await page.getByRole('button', { name: 'Authorize' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Available authorizations' }).waitFor();
  await fits(t, page, 'the dialog for a token');
  await page.getByRole('textbox', { name: 'Bearer token' }).focus();
  await page.keyboard.type('a token');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Logout' }).waitFor();
  await fits(t, page, 'the dialog with a token');
  await page.getByRole('button', { name: 'Close', exact: true }).first().click();
  await fits(t, page, 'the reference of a service with authentication');
});
