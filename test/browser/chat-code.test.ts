import { createClient } from '@agent-workflow/client';
import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage, slack, violationsIn } from './browser.ts';
import { button, messages, saw } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (id: string): string => `${service.url()}/playground#/chat/${id}`;

async function store(id: string, content: string): Promise<void> {
  await service.thread(id);
  await createClient({ url: service.url() }).threads.addMessages(id, [{ role: 'assistant', content }]);
}

const sql = "select id from payments\nwhere order_id = 'A-1042' -- both charges";

browserTest('code has its language, its colours, and a button that copies it', async (t) => {
  await store('coded', `This is it:\n\n\`\`\`sql\n${sql}\n\`\`\`\n\n\`\`\`unheard-of\nplain text\n\`\`\``);
  const { page, context } = await openPage(t, chat('coded'));
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const code = messages(page).getByRole('region', { name: 'Code, sql' });
  await code.locator('.code-word', { hasText: 'select' }).waitFor();
  await code.locator('.code-text', { hasText: "'A-1042'" }).waitFor();
  t.is(await code.innerText(), sql);
  t.is(await messages(page).getByRole('region', { name: 'Code, unheard-of' }).innerText(), 'plain text');
  await button(page, 'Copy the code').first().click();
  await button(page, 'Copied').waitFor();
  t.is(await page.evaluate(() => navigator.clipboard.readText()), sql);
  t.deepEqual(await violationsIn(page), []);
});

/** The longest that the page does not answer within three seconds, in milliseconds. */
const longestPause = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        let [last, most] = [performance.now(), 0];
        const timer = setInterval(() => {
          most = Math.max(most, performance.now() - last);
          last = performance.now();
        }, 5);
        setTimeout(() => {
          clearInterval(timer);
          resolve(most);
        }, 3000);
      }),
  );

browserTest('code that a grammar would read for ever stays plain, and the page answers', async (t) => {
  const length = 27_000;
  const block = (language: string, text: string) =>
    `\`\`\`${language}\n${text.repeat(length / text.length)}\n\`\`\`\n\nThe end.`;
  await store('harmless', block('xml', '<a>b</a>\n'));
  await store('hostile', block('xml', '<a '));
  const { page } = await openPage(t, chat('harmless'));
  await saw(page, 'The end.');
  const usual = await longestPause(page);
  await page.goto(chat('hostile'));
  await messages(page).getByText('<a <a').first().waitFor();
  const longest = await longestPause(page);
  t.true(longest < Math.max(6 * usual, 200 * slack()), `${String(longest)} ms; of harmless code: ${String(usual)} ms`);
  t.is((await messages(page).getByRole('region', { name: 'Code, xml' }).textContent())?.length, length);
});
