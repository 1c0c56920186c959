import test from 'ava';
import type { Page } from 'playwright-core';
import { serve } from '../http/service.ts';
import { openPage, violationsIn } from './browser.ts';
import { messages, saw, status } from './chat-page.ts';
import { browserTest } from './suite.ts';

const service = serve(test, 'chatting');

const alert = (page: Page, text: string) => page.getByRole('alert').filter({ hasText: text });

/** Opens a chat in which the agent has asked this. */
async function openAsked(page: Page, asked: unknown): Promise<void> {
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill(`question ${JSON.stringify(asked)}`);
  await box.press('Control+Enter');
  await page.getByRole('form', { name: 'Questions of the agent' }).waitFor();
}

const chat = (): string => `${service.url()}/playground#/chat`;
const sendAnswer = (page: Page) => page.getByRole('button', { name: 'Send the answer', exact: true }).click();

/** The label of the field that has the keyboard. */
const focused = (page: Page) =>
  page.evaluate(() => (document.activeElement as HTMLInputElement | null)?.labels?.[0]?.innerText ?? '');

browserTest(
  'a question that is a long text names its form by the beginning, and is shown as far as any text',
  async (t) => {
    const { page } = await openPage(t, chat());
    await openAsked(page, { question: `Is this right? ${'word '.repeat(60_000)}`, options: ['yes', 'no'] });
    const form = page.getByRole('group', { name: /^Is this right\?.{1,100}$/ });
    await form.getByRole('button', { name: 'Save all of it' }).waitFor();
    t.true(((await form.textContent()) ?? '').length < 270_000);
  },
);

browserTest('the form of a question begins with its defaults, and one that is taken away is not sent', async (t) => {
  const { page } = await openPage(t, chat());
  await openAsked(page, {
    question: 'Where?',
    schema: {
      properties: {
        city: { type: 'string', default: 'Lisbon' },
        days: { type: 'integer', default: 3 },
        season: { enum: ['summer', 'winter'], default: 'winter' },
      },
    },
  });
  t.is(await page.getByLabel('city').inputValue(), 'Lisbon');
  await page.getByLabel('days').fill('');
  await sendAnswer(page);
  await saw(page, 'The answer: {"city":"Lisbon","season":"winter"}');
});

browserTest(
  'what the schema of a question asks is said at each field, the first of which has the keyboard',
  async (t) => {
    const { page } = await openPage(t, chat());
    await openAsked(page, {
      question: 'What?',
      schema: {
        properties: {
          free: { type: 'string' },
          code: { type: 'string', pattern: '^[A-Z]{2}$' },
          note: { type: 'string', maxLength: 3 },
          extras: { type: 'array', items: { enum: ['sauna', 'bikes', 'boat'] }, minItems: 2 },
          days: { type: 'array', maxItems: 1 },
        },
        required: ['extras'],
      },
    });
    const extra = (name: string) => page.getByRole('group', { name: /^extras/ }).getByRole('checkbox', { name });
    await page.getByLabel('note').fill('long');
    await page.getByLabel('days').fill('[1, 2]');
    await extra('boat').check();
    await sendAnswer(page);
    await alert(page, 'note must have at most 3 characters').waitFor();
    await alert(page, 'extras must have at least 2 items').waitFor();
    await alert(page, 'days must have at most 1 item').waitFor();
    t.is(await focused(page), 'note');
    t.deepEqual(await violationsIn(page), []);
    await page.getByLabel('note').fill('all');
    await page.getByLabel('days').fill('[1]');
    await page.getByLabel('code').fill('ab');
    await extra('sauna').check();
    t.is(await page.getByRole('alert').count(), 0);
    await sendAnswer(page);
    await alert(page, 'code must match the pattern ^[A-Z]{2}$').waitFor();
    t.is(await focused(page), 'code');
    await page.getByLabel('code').fill('AB');
    await sendAnswer(page);
    await saw(page, 'The answer: {"code":"AB","note":"all","extras":["sauna","boat"],"days":[1]}');
  },
);

browserTest('lists, objects, references and formats are checked too, and the fault is said at the field', async (t) => {
  const { page } = await openPage(t, chat());
  await openAsked(page, {
    question: 'Who, and where?',
    schema: {
      properties: {
        tags: { type: 'array', items: { type: 'string', minLength: 2 } },
        address: { type: 'object', properties: { zip: { type: 'string' }, city: {} }, required: ['city'] },
        guest: { $ref: '#/$defs/guest' },
        mail: { type: 'string', format: 'email' },
      },
      $defs: { guest: { type: 'string', enum: ['Ada', 'Bob'] } },
    },
  });
  await page.getByLabel('tags').fill('["ab", "a"]');
  await page.getByLabel('address').fill('{"zip": 1}');
  await page.getByRole('combobox', { name: 'guest' }).selectOption('Bob');
  await page.getByLabel('mail').fill('ada@');
  await sendAnswer(page);
  await alert(page, 'tags at [1] must have at least 2 characters').waitFor();
  await alert(page, 'address must have "city"').waitFor();
  await alert(page, 'mail must be an e-mail address').waitFor();
  t.is(await page.getByRole('alert').count(), 3);
  t.is(await focused(page), 'tags');
  await page.getByLabel('address').fill('{"zip": 1, "city": "Lisbon"}');
  await alert(page, 'address at zip must be a text').waitFor();
  await page.getByLabel('address').fill('{"zip": "1", "city": "Lisbon"}');
  await page.getByLabel('tags').fill('["ab"]');
  await page.getByLabel('mail').fill('ada@example.com');
  await sendAnswer(page);
  await saw(page, '"guest":"Bob","mail":"ada@example.com"');
});

browserTest(
  'a pattern that is no regular expression, or takes for ever, neither hangs the page nor holds the answer',
  async (t) => {
    const { page } = await openPage(t, chat());
    const slow = { type: 'string', pattern: '^(a+)+$' };
    await openAsked(page, {
      question: 'What?',
      schema: { properties: { slow, bad: { type: 'string', pattern: '(' } } },
    });
    await page.getByLabel('slow').fill(`${'a'.repeat(60)}!`);
    await page.getByLabel('bad').fill('b');
    await sendAnswer(page);
    // The page answers while the pattern is tried.
    t.is(await page.evaluate(() => 6 * 7), 42);
    await saw(page, `The answer: {"slow":"${'a'.repeat(60)}!","bad":"b"}`);
    await status(page, 'Completed');
  },
);

browserTest('the field of a question with one is labelled as the answer', async (t) => {
  const { page } = await openPage(t, chat());
  await openAsked(page, { question: 'How old?', schema: { type: 'integer', minimum: 1 } });
  await page.getByLabel('Answer (required)').fill('0');
  await sendAnswer(page);
  await alert(page, 'Answer must be at least 1').waitFor();
  t.is(await focused(page), 'Answer (required)');
});

browserTest('the lines of a question stay lines', async (t) => {
  const { page } = await openPage(t, chat());
  await openAsked(page, 'Two things:\n  1. this\n  2. that');
  const question = page.getByRole('group', { name: /^Two things/ });
  t.true((await question.innerText()).startsWith('Two things:\n  1. this\n  2. that'));
});

browserTest(
  'questions that are answered stay in the chat, where they were asked, and open to all of them',
  async (t) => {
    const { page } = await openPage(t, chat());
    const box = page.getByRole('textbox', { name: 'Message', exact: true });
    await box.fill('ask');
    await box.press('Control+Enter');
    await page.getByRole('group', { name: 'How long, and when?' }).getByLabel('Leave this question open').check();
    await page.getByLabel('Answer to askName').fill('Ada\nLovelace');
    await page.getByRole('button', { name: 'Send the answers' }).click();
    const line = (text: string) => messages(page).locator('summary').filter({ hasText: text });
    await line('Answered: What is your name? Ada').waitFor();
    await page.getByLabel('days').fill('3');
    await sendAnswer(page);
    await line('Answered: How long, and when? {"days":3}').waitFor();
    await saw(page, 'The trip: {"days":3}');
    await status(page, 'Completed');
    const texts = await messages(page).innerText();
    const places = ['ask', 'What is your name?', 'How long', 'Hello Ada'].map((text) => texts.indexOf(text));
    t.deepEqual(
      places,
      places.toSorted((a, b) => a - b),
      texts,
    );
    await line('What is your name?').click();
    await messages(page)
      .locator('.written', { hasText: /Ada\s+Lovelace/ })
      .waitFor();
    t.deepEqual(await violationsIn(page), []);
  },
);

browserTest('an answer that is typed stays when the page catches up with another answer', async (t) => {
  const { page } = await openPage(t, chat());
  const box = page.getByRole('textbox', { name: 'Message', exact: true });
  await box.fill('ask');
  await box.press('Control+Enter');
  await page.getByLabel('Answer to askName').fill('Ada');
  const threadId = decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '');
  const { body } = await service.send('GET', `/v1/threads/${threadId}/runs`);
  const [asking] = (body.data as { readonly runs: readonly { readonly run_id: string }[] }).runs;
  const result = await service.send('GET', `/v1/runs/${asking?.run_id ?? ''}/wait`);
  const { interrupts } = (
    result.body.data as { readonly meta: { readonly interrupts: readonly { id: string; node: string }[] } }
  ).meta;
  const resume = Object.fromEntries(
    interrupts.filter(({ node }) => node === 'askTrip').map(({ id }) => [id, { days: 3 }]),
  );
  await service.send('POST', '/v1/graph/invoke', { messages: [], resume, config: { thread_id: threadId } });
  // The lists of runs are as if they were read before that run had ended: the page follows it from its beginning.
  await page.route(
    /\/v1\/threads\/[^/]+\/runs/,
    async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace('"interrupted"', '"running"') });
    },
    { times: 2 },
  );
  // The page catches up when its reader comes back, at most once in two seconds.
  // Each return has the list of chats read, too.
  await page.waitForFunction(
    () => {
      dispatchEvent(new Event('focus'));
      return document.querySelectorAll('fieldset.question').length === 1;
    },
    undefined,
    { polling: 500 },
  );
  t.is(await page.getByLabel('Answer to askName').inputValue(), 'Ada');
  await sendAnswer(page);
  await saw(page, 'Hello Ada.');
});
