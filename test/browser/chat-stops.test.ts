import { createClient } from '@agent-workflow/client';
import test from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { openPage } from './browser.ts';
import { box, button, messages, saw, send, sendGate } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const articles = (page: Page) => messages(page).getByRole('article');

/** The times that stand at the messages of the user. */
const times = (page: Page) =>
  messages(page)
    .getByRole('article', { name: /^You/ })
    .locator('time')
    .evaluateAll((elements) => elements.map((each) => each.getAttribute('datetime') ?? ''));

browserTest('a stopped reply stands before the message that waited, which has the time of the log', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  await sendGate(page, gate.url);
  await send(page, 'the next one');
  await page.getByRole('list', { name: 'Messages that wait for their run' }).getByText('the next one').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await saw(page, 'You said the next one.');
  await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();
  const shown = await articles(page).allInnerTexts();
  const places = ['gate', 'The first half,', 'the next one', 'You said the next one.'].map((text) =>
    shown.findIndex((each) => each.includes(text)),
  );
  t.deepEqual(places, [0, 1, 2, 3], shown.join('\n---\n'));
  const threadId = decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '');
  const log = await createClient({ url: service.url() }).threads.messages(threadId);
  const logged = log.messages.filter(({ role }) => role === 'user').map(({ timestamp }) => timestamp);
  t.deepEqual(await times(page), logged);
});

browserTest('Stop stands where Send stood, and Send comes back beside it with what is typed', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  t.is(await button(page, 'Stop').count(), 0);
  await sendGate(page, gate.url);
  await button(page, 'Stop').waitFor();
  t.is(await button(page, 'Send').count(), 0);
  await box(page).fill('and then');
  await button(page, 'Send').waitFor();
  await button(page, 'Stop').waitFor();
  await box(page).fill('');
  await button(page, 'Send').waitFor({ state: 'detached' });
  gate.open();
  await saw(page, 'and the second.');
  await button(page, 'Send').waitFor();
  t.is(await button(page, 'Stop').count(), 0);
});
