import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { box, button, messages, saw, send, status } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (id = ''): string => `${service.url()}/playground#/chat${id && `/${id}`}`;

/** A chat with a name, in which this was said. */
const made = (id: string, name: string, text: string) =>
  service.send('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: text }],
    config: { thread_id: id, thread_name: name },
  });

browserTest(
  'the chats stand at the left: what waits first, the open one marked, each with what became of it',
  async (t) => {
    await made('listed-1', 'A trip to the sea', 'hello');
    await made('listed-2', 'A broken one', 'fail');
    await made('listed-3', 'Needs a word', 'question "Who?"');
    const { page } = await openPage(t, chat('listed-1'));
    const list = page.getByRole('navigation', { name: 'Chats' });
    await list
      .getByRole('region', { name: 'Waiting for you' })
      .getByRole('link', { name: /Needs a word.*Who\?/ })
      .waitFor();
    await list.getByRole('link', { name: /A broken one.*failed/ }).waitFor();
    t.is(await list.locator('[aria-current=true]').count(), 1);
    t.regex(await list.locator('[aria-current=true]').innerText(), /A trip to the sea/);
    t.deepEqual(await violationsIn(page), []);
    await list.getByRole('link', { name: /A broken one/ }).click();
    await page.getByRole('heading', { name: 'A broken one', level: 1 }).waitFor();
    t.true(await box(page).evaluate((element) => element === document.activeElement));
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('sea');
    await list.getByRole('link', { name: /A broken one/ }).waitFor({ state: 'detached' });
    await list.getByRole('link', { name: /A trip to the sea/ }).click();
    await saw(page, 'You said hello.');
  },
);

browserTest('a chat that has begun stands in the list, and is called by its first message', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'Where does my parcel hang?');
  await status(page, 'Completed');
  await page.getByRole('heading', { name: 'Where does my parcel hang?', level: 1 }).waitFor();
  const open = page.getByRole('navigation', { name: 'Chats' }).locator('[aria-current=true]');
  await open.filter({ hasText: 'Where does my parcel hang?' }).waitFor();
  t.pass();
});

browserTest('a phone shows the chat or the list, and the way between both', async (t) => {
  await made('phoned', 'From a phone', 'hello');
  const { page } = await openPage(t, chat('phoned'), { size: 'phone' });
  await saw(page, 'You said hello.');
  await page.getByRole('link', { name: 'All chats' }).click();
  const list = page.getByRole('navigation', { name: 'Chats' });
  await list.getByRole('link', { name: /From a phone/ }).waitFor();
  t.false(await messages(page).isVisible());
  t.deepEqual(await violationsIn(page), []);
  await list.getByRole('link', { name: /From a phone/ }).click();
  await saw(page, 'You said hello.');
});

browserTest('a new chat says what the agent is, and offers what its description does', async (t) => {
  const { page } = await openPage(t, chat());
  await page.route('**/v1/agents', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace('"description":null', '"description":"Answers about orders."');
    await route.fulfill({ response, body });
  });
  await page.route('**/v1/agents/*', async (route) => {
    const response = await route.fetch();
    const described = '"description":"Answers about orders.\\n- Where is my parcel?\\n- What may be sent back?"';
    await route.fulfill({ response, body: (await response.text()).replace('"description":null', described) });
  });
  await page.reload();
  await page.getByText('Answers about orders.').waitFor();
  const starters = page.getByRole('list', { name: 'Begin with' });
  await starters.getByRole('button', { name: 'What may be sent back?' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await starters.getByRole('button', { name: 'Where is my parcel?' }).click();
  t.is(await box(page).inputValue(), 'Where is my parcel?');
  await page.keyboard.press('Enter');
  await saw(page, 'You said Where is my parcel?.');
});

browserTest('messages are found in the whole chat, also those that were not read yet, and marked', async (t) => {
  await service.thread('sought');
  const given = Array.from({ length: 400 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: index % 150 === 10 ? `A needle, number ${String(index)}` : `Hay ${String(index)}`,
  }));
  await service.send('POST', '/v1/threads/sought/messages', { messages: given });
  const { page } = await openPage(t, chat('sought'));
  await saw(page, 'Hay 399');
  await button(page, 'Search in this chat').click();
  await page.getByRole('searchbox', { name: 'Search in this chat' }).fill('NEEDLE');
  await page.getByRole('status').filter({ hasText: '3 of 3' }).waitFor();
  await saw(page, 'A needle, number 310');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.getByRole('status').filter({ hasText: '1 of 3' }).waitFor();
  await messages(page).getByText('A needle, number 10', { exact: true }).waitFor();
  const marks = await page.evaluate(() => [...CSS.highlights].map(([name, { size }]) => `${name} ${String(size > 0)}`));
  t.true(marks.includes('found-current true'), marks.join());
  t.deepEqual(await violationsIn(page), []);
  await button(page, 'Next message found').click();
  await page.getByRole('status').filter({ hasText: '2 of 3' }).waitFor();
  await page.getByRole('searchbox', { name: 'Search in this chat' }).press('Escape');
  await page.getByRole('search', { name: 'Messages of this chat' }).waitFor({ state: 'detached' });
});
