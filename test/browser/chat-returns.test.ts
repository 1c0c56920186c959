import test from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { until } from '../until.ts';
import { openPage, violationsIn } from './browser.ts';
import { box, button, messages, saw, send, sendGate, setGate, status } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (id = ''): string => `${service.url()}/playground#/chat${id && `/${id}`}`;

browserTest('after a reload and a stop the bar shows the run that waited, when it has ended', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await sendGate(page, gate.url);
  await send(page, 'q one');
  await page.getByText('q one').first().waitFor();
  await page.reload();
  await saw(page, 'The first half,');
  await button(page, 'Stop').click();
  await saw(page, 'You said q one.');
  await status(page, 'Completed');
  t.is(await button(page, 'Retry').count(), 0);
});

browserTest('after a reload a stopped run is tried again with its own message, also for the second time', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await send(page, 'before');
  await saw(page, 'You said before.');
  await status(page, 'Completed');
  await sendGate(page, gate.url);
  for (const visits of [1, 2]) {
    await gate.visited(visits);
    await button(page, 'Stop').click();
    await status(page, 'Stopped');
    await page.reload();
    await status(page, 'Stopped');
    await setGate(page, gate.url);
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/v1/runs'));
    await button(page, 'Retry').click();
    t.regex((await sent).postData() ?? '', /"gate"}\]/);
  }
  gate.open();
  await saw(page, 'and the second.');
  t.is(await messages(page).getByRole('article', { name: /^You/ }).count(), 2);
});

browserTest('messages that wait behind a run are counted after a reload', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  const waiting = page.getByRole('list', { name: 'Messages that wait for their run' });
  await sendGate(page, gate.url);
  for (const text of ['q one', 'q two']) {
    await send(page, text);
    await waiting.getByText(text).waitFor();
  }
  await page.reload();
  await waiting.getByText('2 messages wait').waitFor();
  await send(page, 'q three');
  await waiting.getByText('q three').waitFor();
  gate.open();
  await saw(page, 'You said q three.');
  await waiting.waitFor({ state: 'detached' });
  await status(page, 'Completed');
  t.deepEqual(
    await messages(page)
      .getByText(/^You said/)
      .allInnerTexts(),
    ['You said q one.', 'You said q two.', 'You said q three.'],
  );
});

browserTest('an answer that comes too late is not lost: the page says so, and it goes into the message', async (t) => {
  const { page, context } = await openPage(t, chat(), { expected: [/400/] });
  await send(page, 'question "Who?"');
  const answer = (tab: Page) => tab.getByLabel('Answer to question');
  await answer(page).fill('Ada');
  const other = await context.newPage();
  // This tab must not catch up before it sends.
  await other.addInitScript(() => {
    for (const name of ['focus', 'visibilitychange'])
      for (const target of [globalThis, document])
        target.addEventListener(name, (event) => event.stopImmediatePropagation(), true);
  });
  await other.goto(page.url());
  await answer(other).fill('Grace');
  await button(page, 'Send the answer').click();
  await saw(page, 'The answer: "Ada"');
  await button(other, 'Send the answer').click();
  await other.getByRole('alert').filter({ hasText: 'A question was answered elsewhere' }).waitFor();
  await saw(other, 'The answer: "Ada"');
  await until(async () => (await box(other).inputValue()) === 'Grace');
  t.is(await other.getByRole('alert').count(), 1);
  t.deepEqual(await violationsIn(other), []);
  await box(other).press('Control+Enter');
  await saw(other, 'You said Grace.');
  t.is(await other.getByRole('alert').count(), 0);
  t.is(await box(page).inputValue(), '');
});

browserTest('an answer to a thread that was deleted goes on in a new chat, and one notice says why', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/404/] });
  await send(page, 'question "Who?"');
  await page.getByLabel('Answer to question').fill('Ada');
  await box(page).fill('By the way');
  const threadId = decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '');
  await service.send('DELETE', `/v1/threads/${threadId}`);
  await button(page, 'Send the answer').click();
  await page.getByRole('alert').filter({ hasText: 'This thread is gone' }).waitFor();
  t.is(await page.getByRole('alert').count(), 1);
  await button(page, 'Begin a new chat with it').click();
  await page.getByRole('heading', { name: 'New chat', level: 1 }).waitFor();
  t.is(await box(page).inputValue(), 'By the way\n\nAda');
  t.is((await service.send('GET', `/v1/threads/${threadId}`)).status, 404);
});

browserTest('a chat whose thread does not exist says so, makes none, and its draft begins a new chat', async (t) => {
  const { page } = await openPage(t, chat('never-made'), { expected: [/404/] });
  const notice = page.getByRole('alert').filter({ hasText: 'There is no thread of this id' });
  await notice.waitFor();
  await send(page, 'hello');
  await page.reload();
  await notice.waitFor();
  t.is(await page.getByRole('alert').count(), 1);
  t.is((await service.send('GET', '/v1/threads/never-made')).status, 404);
  t.is(await box(page).inputValue(), 'hello');
  t.deepEqual(await violationsIn(page), []);
  await button(page, 'Begin a new chat').click();
  await button(page, 'Send').click();
  await saw(page, 'You said hello.');
  t.false(page.url().includes('never-made'));
  t.is((await service.send('GET', '/v1/threads/never-made')).status, 404);
});

browserTest('a new chat that is reloaded before its first message was accepted begins with that message', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/ERR_/, /Failed to load/] });
  await page.route('**/v1/runs', () => undefined);
  const sent = page.waitForRequest('**/v1/runs');
  await send(page, 'hello again');
  await sent;
  await page.reload();
  await page.unroute('**/v1/runs');
  t.is(await box(page).inputValue(), 'hello again');
  t.is(await page.getByRole('alert').count(), 0);
  await button(page, 'Send').click();
  await saw(page, 'You said hello again.');
});
