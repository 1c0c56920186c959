import { createClient } from '@agent-workflow/client';
import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { button, messages } from './chat-page.ts';
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

browserTest('code that a grammar would read for ever stays plain, and the page answers', async (t) => {
  await store('held', `\`\`\`sql\n${sql}\n\`\`\``);
  await store('read', `\`\`\`sql\n${sql}\n\`\`\``);
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  const grammars = '**/highlight-worker*';
  await page.route(grammars, (route) => route.fulfill({ contentType: 'text/javascript', body: 'for (;;);' }));
  const begun = page.waitForEvent('worker');
  await page.goto(chat('held'));
  await (await begun).waitForEvent('close');
  const code = messages(page).getByRole('region', { name: 'Code, sql' });
  t.is(await code.innerText(), sql);
  t.is(await code.locator('span').count(), 0);
  await page.unroute(grammars);
  await page.goto(chat('read'));
  await code.locator('.code-word', { hasText: 'select' }).waitFor();
});
