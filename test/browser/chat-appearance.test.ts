import test from 'ava';
import { openPage, sizes, violationsIn } from './browser.ts';
import { openOptions } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const markdown = [
  '# A heading\n\n#### A deep one\n\nSome **bold** text with a [link](https://example.com) and `code`.',
  '- one\n- two\n  1. three\n\n> A quote',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  `\`\`\`ts\nconst wide = '${'x'.repeat(300)}';\n\`\`\``,
  '<script>document.title = "taken";</script><img src=x onerror="document.title = 1">',
  '[run](javascript:alert(1)) ![picture](https://example.com/a.png)',
  `A word without an end: ${'y'.repeat(500)}`,
].join('\n\n');

test.serial.before(async () => {
  const run = (content: string, more: object = {}) =>
    service.send('POST', '/v1/graph/invoke', {
      messages: [{ role: 'user', content }],
      config: { thread_id: 'drawn' },
      ...more,
    });
  for (const content of ['think', 'add', 'image', `\n\n${markdown}`, 'fail']) await run(content);
  await run('call browser_clock', { config: { thread_id: 'calls' }, tools: [{ name: 'browser_clock' }] });
  await run('ask', { config: { thread_id: 'asks' } });
});

for (const size of Object.keys(sizes) as (keyof typeof sizes)[]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in a chat, its forms and its options: ${size}, ${colorScheme}`, async (t) => {
      const { page } = await openPage(t, `${service.url()}/playground`, { size, colorScheme });
      for (const [thread, group] of [
        ['drawn', undefined],
        ['calls', 'The agent calls browser_clock'],
        ['asks', 'What is your name?'],
      ] as const) {
        await page.goto(`${service.url()}/playground#/chat/${thread}`);
        await page.getByRole('region', { name: 'Messages' }).getByRole('article').first().waitFor();
        if (group !== undefined) await page.getByRole('group', { name: group }).waitFor();
        t.deepEqual(await violationsIn(page), [], thread);
        const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        t.true(width <= 0, `${thread} is ${String(width)} px wider than the window`);
      }
      await openOptions(page);
      await page.getByLabel('turns', { exact: true }).waitFor();
      t.deepEqual(await violationsIn(page), [], 'options');
    });
  }
}

browserTest('what a message holds as HTML is text, and only links to the web can be followed', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat/drawn`);
  const list = page.getByRole('region', { name: 'Messages' });
  await list.getByText('A word without an end').last().waitFor();
  const before = await page.title();
  const written = list.locator('.message-body').getByRole('link');
  const hrefs = await written.evaluateAll((links) => links.map((each) => each.getAttribute('href')));
  t.true(hrefs.every((href) => href?.startsWith('https://')));
  t.is(await list.locator('script').count(), 0);
  await list.getByText('onerror').first().waitFor();
  t.is(await page.title(), before);
});

browserTest('the chat is used by the keyboard alone', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('placeholder') ?? '');
  t.true((await focused()).startsWith('Message'), 'the box has the keyboard when a chat is opened');
  await page.keyboard.type('by keys,');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('in two lines');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Messages' }).getByText('You said by keys,').waitFor();
  t.true((await focused()).startsWith('Message'));
});
