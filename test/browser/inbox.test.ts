import { createClient, type Client } from '@agent-workflow/client';
import test from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');
const timed = servePages(test, 'deadlines');

const clientOf = (of = service): Client => createClient({ url: of.url() });

const refund = { question: 'Refund €249 for order A-1042?', payment: 'pay_7f31', options: ['approve', 'reject'] };

/** Has the agent ask this in a thread. */
async function question(threadId: string, asked: unknown, of = service): Promise<void> {
  const text = of === service ? `question ${JSON.stringify(asked)}` : JSON.stringify(asked);
  await clientOf(of).invoke({
    messages: [{ role: 'user', content: text }],
    config: { thread_id: threadId, thread_name: `Thread ${threadId}` },
  });
}

/** Leaves nothing that waits for the next test. */
async function empty(): Promise<void> {
  const { items } = await clientOf().threads.inbox();
  for (const { thread_id: id } of items) await clientOf().threads.delete(id);
}

async function open(t: Parameters<typeof openPage>[0], options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const { page } = await openPage(t, `${service.url()}/playground#/inbox`, options);
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
  return page;
}

const row = (page: Page, text: string): Locator => page.getByRole('link', { name: text });
const notices = (page: Page): Locator => page.getByRole('status', { name: 'Notices' });

/** Waits until nothing waits in a thread. */
async function settles(t: Parameters<typeof openPage>[0], threadId: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { items } = await clientOf().threads.inbox();
    if (!items.some(({ thread_id: id }) => id === threadId)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.fail(`${threadId} still waits`);
}

browserTest('an empty inbox says what stands in it', async (t) => {
  const page = await open(t);
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
});

browserTest('a question is approved where it stands, with what led to it beside it', async (t) => {
  await question('refund', refund);
  const page = await open(t);
  await row(page, refund.question).click();
  const pane = page.getByRole('article', { name: 'Question' });
  await pane.getByRole('heading', { name: 'Thread refund', level: 1 }).waitFor();
  await pane.getByRole('region', { name: 'What led to it' }).getByText('question {').waitFor();
  await pane.getByText('pay_7f31').last().waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('a');
  await page.keyboard.press('Control+Enter');
  await row(page, refund.question).waitFor({ state: 'detached' });
  await settles(t, 'refund');
  const { messages } = await clientOf().threads.messages('refund');
  t.regex(JSON.stringify(messages.at(-1)), /approve/);
});

browserTest('many are approved at once by the keyboard, and what wants more than a word is left', async (t) => {
  await question('many-1', { ...refund, question: 'Refund one?' });
  await question('many-2', { ...refund, question: 'Refund two?' });
  await question('many-3', 'Which of the two addresses is right?');
  const page = await open(t);
  await row(page, 'Refund one?').waitFor();
  for (const text of ['Refund one?', 'Refund two?', 'Which of the two']) {
    await row(page, text).focus();
    await page.keyboard.press('x');
  }
  const bar = page.getByRole('group', { name: 'Chosen questions' });
  await bar.getByText('1 want an answer of their own', { exact: false }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await bar.getByRole('button', { name: 'Approve 2' }).click();
  await settles(t, 'many-1');
  await settles(t, 'many-2');
  await row(page, 'Which of the two').waitFor();
  t.is(await row(page, 'Refund').count(), 0);
  await empty();
});

browserTest('a form is filled in place, and a fault is said at its field', async (t) => {
  const schema = { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] };
  await question('form', { question: 'Where to?', schema });
  const page = await open(t);
  await row(page, 'Where to?').click();
  await page.getByRole('button', { name: 'Send the answer' }).click();
  await page.getByRole('alert').first().waitFor();
  await page.getByLabel('city').fill('Lisbon');
  await page.getByRole('button', { name: 'Send the answer' }).click();
  await settles(t, 'form');
  const { messages } = await clientOf().threads.messages('form');
  t.regex(JSON.stringify(messages.at(-1)), /Lisbon/);
});

browserTest('an answer that is refused brings the question back with the reason', async (t) => {
  await question('late', refund);
  const page = await open(t, { expected: [/40\d/] });
  await row(page, refund.question).click();
  await clientOf().invoke({ messages: [], resume: 'approve', config: { thread_id: 'late' } });
  await page.getByRole('button', { name: 'Approve' }).click();
  await notices(page).getByText('Not answered:', { exact: false }).waitFor();
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  t.deepEqual((await clientOf().threads.inbox()).items, []);
});

browserTest('what is due first stands first', async (t) => {
  await question('later', { deadline: 5 * 3_600_000 }, timed);
  await question('never', {}, timed);
  await question('soon', { deadline: 60_000 * 20 }, timed);
  const { page } = await openPage(t, `${timed.url()}/playground#/inbox`);
  await page.getByRole('region', { name: 'Due within the hour' }).getByText('20 min left').waitFor();
  const groups = await page.getByRole('heading', { level: 2, name: /^(Due|No deadline)/ }).allInnerTexts();
  t.deepEqual(groups, ['Due within the hour', 'Due within a day', 'No deadline']);
});

for (const size of ['desktop', 'phone'] as const) {
  for (const colorScheme of ['light', 'dark'] as const) {
    browserTest(`axe finds nothing in the inbox and in an open question: ${size}, ${colorScheme}`, async (t) => {
      await question('looked-at', refund);
      const page = await open(t, { size, colorScheme });
      await row(page, refund.question).waitFor();
      t.deepEqual(await violationsIn(page), []);
      await row(page, refund.question).click();
      await page.getByRole('button', { name: 'Approve' }).waitFor();
      t.deepEqual(await violationsIn(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      t.true(width <= 0, `the page is ${String(width)} px wider than the window`);
      await empty();
    });
  }
}

for (const size of ['desktop', 'phone'] as const) {
  browserTest(`the navigation counts what waits, and follows what is answered: ${size}`, async (t) => {
    await empty();
    await question('counted-1', refund);
    await question('counted-2', refund);
    const { page } = await openPage(t, `${service.url()}/playground#/runs`, { size });
    const link = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: /^Inbox/ });
    await link.getByText('2 waiting').waitFor();
    t.deepEqual(await violationsIn(page), []);
    await link.click();
    await row(page, refund.question).first().click();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await link.getByText('1 waiting').waitFor();
    await empty();
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Runs' }).click();
    await link.locator('.place-count').waitFor({ state: 'detached' });
  });
}
