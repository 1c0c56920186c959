import test from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { openPage } from './browser.ts';
import { box, button, saw, send, sendGate } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (): string => `${service.url()}/playground#/chat`;

/** Waits until the keyboard is at the status of the run. */
const atStatus = (page: Page) => page.waitForFunction(() => document.activeElement?.id === 'run-status');

/** Waits until this box has the keyboard. */
const atLabel = (page: Page, label: string) =>
  page.waitForFunction(
    (wanted) => (document.activeElement as HTMLInputElement | null)?.labels?.[0]?.innerText.startsWith(wanted) === true,
    label,
  );

browserTest('after an answer that is sent by the keyboard, it is at the status of the run', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'question "Who?"');
  await page.getByLabel('Answer to question').fill('Ada');
  await button(page, 'Send the answer').press('Enter');
  await saw(page, 'The answer: "Ada"');
  await atStatus(page);
  await send(page, 'question "Who else?"');
  await page.getByLabel('Answer to question').fill('Bob');
  await page.getByLabel('Answer to question').press('Tab');
  await page.getByLabel('Sent as').press('Enter');
  await button(page, 'Send the answer').focus();
  await page.keyboard.press('Space');
  await saw(page, 'The answer: "Bob"');
  await atStatus(page);
  t.pass();
});

browserTest('an answer that is refused leaves the keyboard at its button', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/409/] });
  await send(page, 'question "Who?"');
  await page.getByLabel('Answer to question').fill('Ada');
  await page.route('**/v1/runs', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'CONFLICT', message: 'Not now.' } } }),
  );
  await button(page, 'Send the answer').press('Enter');
  await page.getByRole('alert').filter({ hasText: 'Not now.' }).waitFor();
  t.is(await page.evaluate(() => document.activeElement?.textContent), 'Send the answer');
});

browserTest('after Stop by the keyboard it is in the box, and after Retry at the status of the run', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await sendGate(page, gate.url);
  await button(page, 'Stop').press('Enter');
  await button(page, 'Retry').waitFor();
  await atLabel(page, 'Message');
  gate.open();
  await button(page, 'Retry').press('Enter');
  await saw(page, 'and the second.');
  await atStatus(page);
  await page.keyboard.press('Tab');
  t.regex((await page.evaluate(() => document.activeElement?.textContent)) ?? '', /^Open the run/);
});

browserTest(
  'the button that sends gives the keyboard back to the box, and a file that is taken away to its list',
  async (t) => {
    const { page } = await openPage(t, chat());
    await box(page).fill('hello');
    await page
      .getByLabel('Attach files')
      .setInputFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes.') }]);
    await button(page, 'Take notes.txt away').press('Enter');
    await atLabel(page, 'Attach files');
    await button(page, 'Send').press('Enter');
    await saw(page, 'You said hello.');
    await atLabel(page, 'Message');
    t.pass();
  },
);
