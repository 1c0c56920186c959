import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage, sizes, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const whole = servePages(test, 'obedient');
const few = servePages(test, 'obedient', { DIALECTS: 'mcp,agui' });

const connect = (page: Page) => page.getByRole('region', { name: 'Connect' });
const tabs = (page: Page) => connect(page).getByRole('tab');
const code = (page: Page, language: string) =>
  connect(page).getByRole('region', { name: `Code, ${language}`, exact: true });

browserTest('the page of an agent has code for each protocol that the service speaks, and no other', async (t) => {
  const { page } = await openPage(t, `${whole.url()}/playground#/agents/default`);
  await tabs(page).nth(5).waitFor();
  t.deepEqual(await tabs(page).allInnerTexts(), ['HTTP', 'OpenAI', 'LangGraph', 'MCP', 'A2A', 'AG-UI']);
  const other = (await openPage(t, `${few.url()}/playground#/agents/default`)).page;
  await tabs(other).nth(2).waitFor();
  t.deepEqual(await tabs(other).allInnerTexts(), ['HTTP', 'MCP', 'AG-UI']);
});

browserTest(
  'a protocol is chosen by the keyboard, and its code is copied with the address of the service',
  async (t) => {
    const { page, context } = await openPage(t, `${whole.url()}/playground#/agents/default`);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await tabs(page).nth(5).waitFor();
    await tabs(page).first().focus();
    await page.keyboard.press('ArrowRight');
    t.is(await tabs(page).locator('xpath=self::*[@aria-selected="true"]').innerText(), 'OpenAI');
    await code(page, 'js').waitFor();
    await connect(page).getByRole('button', { name: 'Copy the code' }).last().click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    t.true(copied.includes(`baseURL: "${whole.url()}/openai/v1"`), copied);
    t.false(copied.includes('TOKEN'));
    await page.evaluate(() => sessionStorage.setItem('token', 'a secret of the tab'));
    await page.reload();
    await tabs(page).nth(5).waitFor();
    t.regex(await code(page, 'sh').innerText(), /\$TOKEN/);
    t.false((await connect(page).innerText()).includes('a secret'));
  },
);

for (const size of ['desktop', 'phone'] as const)
  for (const colorScheme of ['light', 'dark'] as const)
    browserTest(`axe finds nothing in what connects: ${size}, ${colorScheme}`, async (t) => {
      const { page } = await openPage(t, `${whole.url()}/playground#/agents/default`, { size, colorScheme });
      await tabs(page).nth(5).waitFor();
      for (const name of await tabs(page).allInnerTexts()) {
        await tabs(page).filter({ hasText: name }).first().click();
        await code(page, 'js').waitFor();
        t.deepEqual(await violationsIn(page), [], name);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        t.true(width <= sizes[size].width, `${name}: ${String(width)} px`);
      }
    });
