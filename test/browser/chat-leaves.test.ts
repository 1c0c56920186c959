import test from 'ava';
import type { Page } from 'playwright-core';
import { openPage } from './browser.ts';
import { box, messages, saw, send } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (id = ''): string => `${service.url()}/playground#/chat${id && `/${id}`}`;
const sending = (page: Page) => page.getByRole('button', { name: 'Sending …' });
const completed = (page: Page) => page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();

/** Holds the next run that the page starts on its way to the service, until it is released; that resolves when the page has the reply. */
async function holdStart(page: Page): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<undefined>();
  await page.route('**/v1/runs', async (route) => {
    if (route.request().method() === 'POST') await held.promise;
    await route.continue();
  });
  const accepted = page.waitForResponse((reply) => reply.request().method() === 'POST' && reply.status() === 202);
  return async () => {
    held.resolve(undefined);
    await (await accepted).finished();
    await page.unroute('**/v1/runs');
  };
}

/** Holds the next run that the page starts until it is released: then it is refused. That resolves when the page is done with it. */
async function refuseStart(page: Page): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<undefined>();
  const error = { code: 'CONFLICT', message: 'Not now.' };
  await page.route('**/v1/runs', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await held.promise;
    return route.fulfill({ status: 409, json: { error } });
  });
  const refused = page.waitForResponse((reply) => reply.request().method() === 'POST' && reply.status() === 409);
  return async () => {
    held.resolve(undefined);
    await (await refused).finished();
    await page.unroute('**/v1/runs');
  };
}

const openRuns = async (page: Page): Promise<void> => {
  await page.getByRole('link', { name: 'Runs', exact: true }).click();
  await page.getByRole('main', { name: 'Runs' }).waitFor();
};

const goBack = async (page: Page): Promise<void> => {
  await page.goBack();
  await page.getByRole('main', { name: 'Chat' }).waitFor();
};

/** A thread with a reply to its first message, whose second one is held while it is being sent. */
async function holdSecond(page: Page): Promise<() => Promise<void>> {
  await send(page, 'one');
  await completed(page);
  const release = await holdStart(page);
  await send(page, 'two');
  await sending(page).waitFor();
  return release;
}

const repliesOn = (page: Page): Promise<string[]> =>
  messages(page)
    .getByText(/^You said/)
    .allInnerTexts();

browserTest('a message that is being sent goes its way when the reader leaves, and is no draft any more', async (t) => {
  const { page } = await openPage(t, chat());
  const release = await holdSecond(page);
  await openRuns(page);
  await release();
  await goBack(page);
  await saw(page, 'You said two.');
  await completed(page);
  t.is(await box(page).inputValue(), '');
  t.deepEqual(await repliesOn(page), ['You said one.', 'You said two.']);
});

browserTest('a reader who comes back while a message is being sent sees that it is, and then its reply', async (t) => {
  const { page } = await openPage(t, chat());
  const release = await holdSecond(page);
  await openRuns(page);
  await goBack(page);
  await sending(page).waitFor();
  t.is(await box(page).inputValue(), 'two');
  await release();
  await saw(page, 'You said two.');
  await completed(page);
  t.is(await box(page).inputValue(), '');
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  t.deepEqual(await repliesOn(page), ['You said one.', 'You said two.']);
});

browserTest(
  'a new chat that is left before it has a thread takes nobody back, and who goes back finds its thread',
  async (t) => {
    const { page } = await openPage(t, chat());
    const release = await holdStart(page);
    await send(page, 'hello there');
    await sending(page).waitFor();
    await openRuns(page);
    await release();
    await page.waitForFunction(() => sessionStorage.getItem('draft ') === null);
    t.regex(page.url(), /#\/runs$/);
    await goBack(page);
    await saw(page, 'You said hello there.');
    t.regex(page.url(), /#\/chat\/[^?]+/);
    t.is(await box(page).inputValue(), '');
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('heading', { name: 'New chat' }).waitFor();
    t.is(await box(page).inputValue(), '');
  },
);

browserTest('the reply to a message of one thread is not drawn in another that is opened meanwhile', async (t) => {
  await service.thread('other-thread', 'the other one');
  const { page } = await openPage(t, chat());
  const release = await holdSecond(page);
  const first = page.url();
  await page.goto(chat('other-thread'));
  await saw(page, 'You said the other one.');
  t.is(await sending(page).count(), 0);
  await release();
  await page.waitForFunction(() => !Object.keys(sessionStorage).some((key) => key.startsWith('draft')));
  t.true(page.url().endsWith('#/chat/other-thread'));
  t.deepEqual(await repliesOn(page), ['You said the other one.']);
  await page.goto(first);
  await saw(page, 'You said two.');
  t.deepEqual(await repliesOn(page), ['You said one.', 'You said two.']);
});

browserTest('an answer that is being sent when the reader leaves is not taken for one from elsewhere', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'question "Who?"');
  await page.getByLabel('Answer to question').fill('Ada');
  const release = await holdStart(page);
  await page.getByRole('button', { name: 'Send the answer' }).click();
  await openRuns(page);
  await release();
  await goBack(page);
  await saw(page, 'The answer: "Ada"');
  await completed(page);
  t.is(await page.getByRole('alert').count(), 0);
  t.is(await box(page).inputValue(), '');
});

browserTest('a fork that is made while the reader goes elsewhere takes nobody back', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'one');
  await completed(page);
  const held = Promise.withResolvers<undefined>();
  await page.route('**/fork', async (route) => {
    await held.promise;
    await route.continue();
  });
  const forked = page.waitForResponse('**/fork');
  await messages(page).getByRole('button', { name: 'Fork from here' }).last().click();
  await openRuns(page);
  held.resolve(undefined);
  await (await forked).finished();
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('main', { name: 'Agents' }).waitFor();
  await page.goBack();
  await page.getByRole('main', { name: 'Runs' }).waitFor();
  t.regex(page.url(), /#\/runs$/);
});

/** Behind a refusal a chat reads what has changed in its thread. @returns what resolves when it has */
function watchCatchUp(page: Page): () => Promise<unknown> {
  const caughtUp = page.waitForResponse((reply) => reply.url().endsWith('/runs?limit=1'));
  return async () => (await caughtUp).finished();
}

/** By way of another view, after which a chat that was left has ended. */
async function comeBack(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Agents' }).click();
  await page.getByRole('main', { name: 'Agents' }).waitFor();
  await page.goBack();
  await goBack(page);
}

/** The console logs each refusal as an error. */
const isRefused = { expected: [/409/] };

const sawRefusal = (page: Page) => page.getByRole('alert').getByText('Not now.').waitFor();

browserTest('who comes back to a chat whose message was refused meanwhile sees why, and has its text', async (t) => {
  const { page } = await openPage(t, chat(), isRefused);
  await send(page, 'one');
  await completed(page);
  const release = await refuseStart(page);
  await send(page, 'two');
  await sending(page).waitFor();
  await openRuns(page);
  const caughtUp = watchCatchUp(page);
  await release();
  await caughtUp();
  t.is(await page.getByRole('alert').count(), 0);
  await comeBack(page);
  await sawRefusal(page);
  t.is(await box(page).inputValue(), 'two');
  await box(page).press('Control+Enter');
  await saw(page, 'You said two.');
  await completed(page);
  t.is(await page.getByRole('alert').count(), 0);
});

browserTest(
  'the refusal of the first message of a chat is there for who comes back, and in no other chat',
  async (t) => {
    await service.thread('unhurt-thread', 'the other one');
    const { page } = await openPage(t, chat(), isRefused);
    const release = await refuseStart(page);
    await send(page, 'hello there');
    await sending(page).waitFor();
    await page.goto(chat('unhurt-thread'));
    await saw(page, 'You said the other one.');
    await release();
    await openRuns(page);
    await goBack(page);
    await saw(page, 'You said the other one.');
    t.is(await page.getByRole('alert').count(), 0);
    t.is(await box(page).inputValue(), '');
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('heading', { name: 'New chat' }).waitFor();
    await sawRefusal(page);
    t.is(await box(page).inputValue(), 'hello there');
  },
);

browserTest(
  'who comes back to a question whose answer was refused meanwhile sees why, and has the answer',
  async (t) => {
    const { page } = await openPage(t, chat(), isRefused);
    await send(page, 'question "Who?"');
    await page.getByLabel('Answer to question').fill('Ada');
    const release = await refuseStart(page);
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await openRuns(page);
    const caughtUp = watchCatchUp(page);
    await release();
    await caughtUp();
    await comeBack(page);
    await sawRefusal(page);
    t.is(await page.getByLabel('Answer to question').inputValue(), 'Ada');
  },
);
