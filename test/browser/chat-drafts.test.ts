import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { box, messages, saw, send } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (): string => `${service.url()}/playground#/chat`;
const form = (page: Page) => page.getByRole('form', { name: 'Questions of the agent' });
const answer = (page: Page) => page.getByLabel('Answer to askName');
const attached = (page: Page) => page.getByRole('list', { name: 'Attached files' });

/** Leaves the chat for another view, and comes back to it. */
async function leaveAndReturn(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('main', { name: 'Runs' }).waitFor();
  await page.goBack();
  await page.getByRole('main', { name: 'Chat' }).waitFor();
}

/** The keys that begin like this and under which the tab keeps something. */
const kept = (page: Page, prefix: string): Promise<string[]> =>
  page.evaluate((begin) => Object.keys(sessionStorage).filter((key) => key.startsWith(begin)), prefix);

const attach = (page: Page, ...names: string[]) =>
  page
    .getByLabel('Attach files')
    .setInputFiles(names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from('Notes.') })));

browserTest('answers that are typed stay over a change of view and a reload, until they are accepted', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'ask');
  await answer(page).fill('Ada');
  await page.getByLabel('days').fill('3');
  await leaveAndReturn(page);
  await form(page).waitFor();
  t.is(await answer(page).inputValue(), 'Ada');
  await page.getByRole('group', { name: 'How long, and when?' }).getByLabel('Leave this question open').check();
  await page.reload();
  await form(page).waitFor();
  t.is(await answer(page).inputValue(), 'Ada');
  t.is(await page.getByLabel('days').count(), 0);
  await page.getByRole('button', { name: 'Send the answers' }).click();
  await saw(page, 'Hello Ada.');
  t.is(await page.getByLabel('days').inputValue(), '3');
  await page.getByRole('button', { name: 'Send the answer' }).click();
  await saw(page, 'The trip: {"days":3}');
  await page.waitForFunction(() => !Object.keys(sessionStorage).some((key) => key.startsWith('answers')));
});

browserTest(
  'the result of a tool that is typed stays over a change of view and a reload, until it is sent',
  async (t) => {
    await service.send('POST', '/v1/graph/invoke', {
      messages: [{ role: 'user', content: 'call look' }],
      config: { thread_id: 'typed-result' },
      tools: [{ name: 'look', description: 'Looks.' }],
    });
    const { page } = await openPage(t, `${chat()}/typed-result`);
    const result = page.getByLabel('Result of look, as JSON');
    await result.fill('{"seen":"sea"}');
    await leaveAndReturn(page);
    await result.waitFor();
    t.is(await result.inputValue(), '{"seen":"sea"}');
    await page.reload();
    await result.waitFor();
    t.is(await result.inputValue(), '{"seen":"sea"}');
    t.deepEqual(await kept(page, 'results'), ['results typed-result']);
    await page.getByRole('button', { name: 'Send the result' }).click();
    await saw(page, 'The tool gave {"seen":"sea"}.');
    await page.waitForFunction(() => !Object.keys(sessionStorage).some((key) => key.startsWith('results')));
  },
);

browserTest('answers that are typed belong to their thread and their question', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'question "Who?"');
  await page.getByLabel('Answer to question').fill('Ada');
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('heading', { name: 'New chat' }).waitFor();
  await send(page, 'question "Who else?"');
  t.is(await page.getByLabel('Answer to question').inputValue(), '');
  t.is(await box(page).inputValue(), '');
});

browserTest('a draft that is too large to be kept, or a full storage, disturbs nothing', async (t) => {
  const { page } = await openPage(t, chat());
  await box(page).fill('small');
  await page.waitForFunction(() => sessionStorage.getItem('draft ') === 'small');
  await box(page).fill('x'.repeat(600_000));
  await page.waitForFunction(() => sessionStorage.getItem('draft ') === null);
  t.is((await box(page).inputValue()).length, 600_000);
  await page.evaluate(() => {
    for (let length = 2 ** 22, count = 0; length >= 1; count++) {
      try {
        sessionStorage.setItem(`full ${String(count)}`, 'x'.repeat(length));
      } catch {
        length = Math.floor(length / 2);
      }
    }
  });
  await send(page, 'hello');
  await saw(page, 'You said hello.');
});

browserTest('files that are attached stay over a change of view, and are sent', async (t) => {
  const { page } = await openPage(t, chat());
  await box(page).fill('With files');
  await attach(page, 'one.txt', 'two.txt');
  await leaveAndReturn(page);
  await attached(page).getByText('one.txt').waitFor();
  await page.getByRole('button', { name: 'Take one.txt away' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await messages(page).getByRole('link', { name: 'two.txt' }).waitFor();
  t.is(await messages(page).getByRole('link', { name: 'one.txt' }).count(), 0);
  t.is(await attached(page).count(), 0);
  t.deepEqual(await kept(page, 'files'), []);
});

browserTest('a reload keeps the files that are stored, and names those that are not', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/413/] });
  await page.route('**/v1/files/upload', async (route) => {
    const isRefused = (route.request().postDataBuffer()?.indexOf('second.txt') ?? -1) >= 0;
    if (isRefused) await route.fulfill({ status: 413, json: { error: { code: 'TOO_LARGE', message: 'Too large.' } } });
    else await route.continue();
  });
  await box(page).fill('With files');
  await attach(page, 'first.txt', 'second.txt');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('alert').filter({ hasText: 'second.txt' }).waitFor();
  await page.reload();
  await attached(page).getByText('first.txt').waitFor();
  t.is(await attached(page).getByRole('listitem').count(), 1);
  const lost = page.getByRole('alert').filter({ hasText: 'second.txt' });
  await lost.waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.reload();
  await lost.getByRole('button', { name: 'Dismiss' }).click();
  await lost.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await messages(page).getByRole('link', { name: 'first.txt' }).waitFor();
  t.deepEqual(await kept(page, 'files'), []);
});

browserTest('what is typed while a message is being sent stays in the box', async (t) => {
  const { page } = await openPage(t, chat());
  const held = Promise.withResolvers<undefined>();
  await page.route('**/v1/runs', async (route) => {
    await held.promise;
    await route.continue();
  });
  await send(page, 'hello');
  await page.getByRole('button', { name: 'Sending …' }).waitFor();
  await box(page).press('End');
  await page.keyboard.type(' and more');
  held.resolve(undefined);
  await saw(page, 'You said hello.');
  t.is(await box(page).inputValue(), 'and more');
});
