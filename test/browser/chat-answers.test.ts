import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { box, button, messages, saw, send, status } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (): string => `${service.url()}/playground#/chat`;
const guard = (page: Page) => page.getByRole('group', { name: 'The agent waits' });
const sendQuestion = (page: Page, question: unknown) => send(page, `question ${JSON.stringify(question)}`);
const refund = {
  question: 'Refund €249.00 for order A-1042?',
  payment: 'pay_7f31',
  schema: { type: 'object', properties: { approved: { type: 'boolean' }, reason: { type: 'string' } } },
};

browserTest(
  'a question that is a yes or no has Approve and Reject, beside its facts and its other fields',
  async (t) => {
    const { page } = await openPage(t, chat());
    await sendQuestion(page, refund);
    const card = page.getByRole('group', { name: refund.question });
    await card.getByText('pay_7f31').waitFor();
    t.is(await page.getByRole('combobox', { name: /approved/ }).count(), 0);
    t.is(await button(page, 'Send the answer').count(), 0);
    await card.getByLabel('reason').fill('Charged twice');
    t.deepEqual(await violationsIn(page), []);
    await card.getByRole('button', { name: 'Approve' }).click();
    await saw(page, 'The answer: {"approved":true,"reason":"Charged twice"}');
  },
);

browserTest('a rejection is sent after a while in which it can be taken back', async (t) => {
  const { page } = await openPage(t, chat());
  await sendQuestion(page, { question: 'Close the account?', options: ['approve', 'reject'] });
  await button(page, 'Reject').click();
  await button(page, 'Undo').click();
  t.is(
    await messages(page)
      .getByText(/^The answer/)
      .count(),
    0,
  );
  await button(page, 'Reject').click();
  await saw(page, 'The answer: "reject"');
});

browserTest('Ctrl+Enter in a question approves it', async (t) => {
  const { page } = await openPage(t, chat());
  await sendQuestion(page, refund);
  await page.getByRole('group', { name: refund.question }).getByLabel('reason').press('Control+Enter');
  await saw(page, 'The answer: {"approved":true}');
  t.pass();
});

browserTest('a few choices are buttons, each of which answers at once', async (t) => {
  const { page } = await openPage(t, chat());
  await sendQuestion(page, { question: 'Which?', options: ['Lisbon', 'Porto', 3] });
  await button(page, '3').waitFor();
  await button(page, 'Porto').click();
  await saw(page, 'The answer: "Porto"');
  t.pass();
});

browserTest('a message while a question is open asks what it is, and cancels nothing by itself', async (t) => {
  const { page } = await openPage(t, chat());
  await sendQuestion(page, 'Who are you?');
  await button(page, 'Send the answer').waitFor();
  await send(page, 'Ada');
  await guard(page).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('Escape');
  await guard(page).waitFor({ state: 'detached' });
  t.true(await box(page).evaluate((element) => element === document.activeElement));
  t.is(await box(page).inputValue(), 'Ada');
  await status(page, 'Waits for you');
  await box(page).press('Enter');
  await page.keyboard.press('Enter');
  await saw(page, 'The answer: "Ada"');
  t.is(await box(page).inputValue(), '');
});

browserTest('a message that is sent past a question drops it, when its writer says so', async (t) => {
  const { page } = await openPage(t, chat());
  await sendQuestion(page, { question: 'Pay?', schema: { type: 'boolean' } });
  await button(page, 'Approve').waitFor();
  await send(page, 'something else');
  t.is(await guard(page).getByRole('button', { name: 'Send as the answer' }).count(), 0, 'a text is no yes or no');
  await guard(page).getByRole('button', { name: 'Drop the question and send' }).click();
  await saw(page, 'You said something else.');
  t.is(await button(page, 'Approve').count(), 0);
});
