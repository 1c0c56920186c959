import test from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { openPage, violationsIn } from './browser.ts';
import { button, messages, openOptions, saw, send, sendGate, setGate, status } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

const chat = (id = ''): string => `${service.url()}/playground#/chat${id && `/${id}`}`;

browserTest('the first message makes a thread, whose address stays, and the reply is drawn as Markdown', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'think');
  await saw(page, 'I have thought.');
  t.is(await messages(page).locator('strong', { hasText: 'thought' }).count(), 1);
  await messages(page).getByText('Reasoning', { exact: true }).click();
  await saw(page, 'First this, then that.');
  await status(page, 'Completed');
  await page.getByText('12 tokens in, 34 out').waitFor();
  await page.waitForURL(/#\/chat\/[^?]+\?run=/);
  await page.reload();
  await saw(page, 'I have thought.');
  await page.getByText('12 tokens in, 34 out').waitFor();
});

browserTest(
  'a call of a tool is one line with its duration, and opens to its tokens, arguments and result',
  async (t) => {
    const { page } = await openPage(t, chat());
    await send(page, 'add');
    await saw(page, 'The tool gave 5.');
    const line = messages(page).locator('summary', { hasText: 'Tool call add' });
    t.regex(await line.innerText(), /\d ms$/);
    const traces: string[] = [];
    page.on('request', (request) => traces.push(...(/\/trace\b/.exec(request.url()) ?? [])));
    await line.click();
    await line.getByText('5 tokens').waitFor();
    await messages(page)
      .getByRole('tree', { name: 'Arguments of add' })
      .getByRole('treeitem', { name: 'a: 2' })
      .waitFor();
    await messages(page).getByRole('group', { name: 'Result of add' }).getByText('5').waitFor();
    t.is(await messages(page).getByRole('article').count(), 3, 'the result has no message of its own');
    await page.reload();
    await line.click();
    await line.getByText('5 tokens').waitFor();
    for (let turn = 0; turn < 2; turn++) await line.click();
    t.is(traces.length, 2, 'once before the reload, and once after it');
    t.deepEqual(await violationsIn(page), []);
  },
);

browserTest('images that are there are shown, those elsewhere are links', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'image');
  await messages(page).getByRole('img', { name: 'One pixel' }).waitFor();
  const link = messages(page).getByRole('link', { name: 'A picture at example.com' });
  await link.waitFor();
  t.is(await link.getAttribute('rel'), 'noopener noreferrer');
});

browserTest('a run is stopped by its button, what it had said stays, and retry loses nothing of it', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat(), { expected: [/409/] });
  await sendGate(page, gate.url);
  await page.getByRole('button', { name: 'Stop' }).click();
  await status(page, 'Stopped');
  await saw(page, 'Stopped. What was said until then stays.');
  await page.reload();
  await saw(page, 'The first half,');
  await saw(page, 'Stopped. What was said until then stays.');
  await setGate(page, gate.url);
  gate.open();
  await page.route('**/v1/runs', (route) => route.fulfill({ status: 409, json: refused }), { times: 1 });
  await page.getByRole('button', { name: 'Retry' }).click();
  await page.getByRole('alert').filter({ hasText: 'not now' }).waitFor();
  await saw(page, 'Stopped. What was said until then stays.');
  await page.getByRole('button', { name: 'Retry' }).click();
  await saw(page, 'The first half, and the second.');
  await status(page, 'Completed');
  t.is(await messages(page).getByRole('article', { name: /^You/ }).count(), 1);
  t.is(
    await messages(page)
      .getByRole('article', { name: /^Agent/ })
      .count(),
    1,
  );
  await page.getByRole('status', { name: 'Notices' }).getByText('The stopped answer stays in the versions').waitFor();
  await page.getByRole('link', { name: 'State', exact: true }).click();
  await page
    .getByRole('navigation', { name: /^Versions/ })
    .getByRole('link', { name: 'Stopped answer' })
    .click();
  await page.getByRole('row', { name: 'Added context[1] assistant: The first half,' }).waitFor();
});

const refused = { error: { code: 'CONFLICT', message: 'not now', details: [] }, metadata: {} };

browserTest('“Go on” goes on from a stopped answer, and goes with the next message', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await sendGate(page, gate.url);
  await button(page, 'Stop').click();
  const goOn = button(page, 'Go on');
  await goOn.waitFor();
  t.deepEqual(await violationsIn(page), []);
  await goOn.click();
  await saw(page, 'You said Go on..');
  await status(page, 'Completed');
  t.is(await goOn.count(), 0);
  await saw(page, 'Stopped. What was said until then stays.');
});

browserTest('a failed run says why in words, and retry begins again where it failed', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'fail');
  await page.getByRole('alert').filter({ hasText: 'The step “talk” failed' }).waitFor();
  await page.getByRole('alert').filter({ hasText: 'NODE_ERROR' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  const retried = page.waitForRequest((request) => request.url().endsWith('/retry'));
  await page.getByRole('button', { name: 'Retry' }).click();
  await retried;
  await saw(page, 'You said fail.');
  t.is(await messages(page).getByRole('article', { name: /^You/ }).count(), 1);
});

browserTest(
  'a refused message stays in its box with the reason, and options that cannot be read are named',
  async (t) => {
    const { page } = await openPage(t, chat(), { expected: [/422/] });
    await page.getByText('Options').click();
    await page.getByLabel('Recursion limit').fill('0');
    await send(page, 'hello');
    await page.getByRole('alert').filter({ hasText: 'must be a whole number from 1 to 1000' }).waitFor();
    await page.getByLabel('Recursion limit').fill('');
    await page.getByLabel('Further fields, as a JSON object').fill('{"unknown_field": 1}');
    await send(page, 'hello');
    await page.getByRole('alert').filter({ hasText: 'unknown_field' }).waitFor();
    t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), 'hello');
    t.deepEqual(await violationsIn(page), []);
  },
);

browserTest(
  'an option that cannot be sent is unfolded each time, has the keyboard, and is mended at once',
  async (t) => {
    const { page } = await openPage(t, chat());
    const fold = page.getByText(/^Options/);
    const config = page.getByLabel('Further config, as a JSON object');
    await fold.click();
    await config.fill('[');
    await fold.click();
    for (const again of ['for the first time', 'and again']) {
      await send(page, again);
      await page.getByRole('alert').filter({ hasText: 'The config is not JSON' }).waitFor();
      await config.waitFor();
      t.true(await config.evaluate((element) => element === document.activeElement));
      t.deepEqual(await violationsIn(page), []);
      await fold.click();
      t.false(await config.isVisible());
    }
    await fold.click();
    await config.fill('{}');
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await send(page, 'mended');
    await saw(page, 'You said mended.');
    t.false(await config.isVisible(), 'the options fold when the run is accepted');
    await fold.click();
    await config.fill('[');
    await fold.click();
    await messages(page).getByRole('button', { name: 'Edit and fork' }).click();
    await config.waitFor();
    t.is(await page.getByRole('dialog').count(), 0);
  },
);

browserTest('the initial state is a form made of the schema, sent with one run', async (t) => {
  const { page } = await openPage(t, chat());
  await page.getByText('Options').click();
  await page.getByLabel('name', { exact: true }).fill('Ada');
  await page.getByLabel('turns', { exact: true }).fill('7');
  await page.getByLabel('Granularity').selectOption('full');
  await send(page, 'hello');
  await saw(page, 'You said hello, Ada.');
  await page.getByText('State of the run').click();
  await page.getByRole('tree', { name: 'State of the run' }).getByRole('treeitem', { name: 'turns: 8' }).waitFor();
  t.is(await page.getByLabel('turns', { exact: true }).inputValue(), '');
});

browserTest('a thread is forked from a message, and a message is edited in a fork', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'one');
  await saw(page, 'You said one.');
  await status(page, 'Completed');
  await send(page, 'two');
  await saw(page, 'You said two.');
  await status(page, 'Completed');
  const original = page.url();
  await messages(page)
    .getByRole('article', { name: /^Agent/ })
    .first()
    .getByRole('button', { name: 'Fork from here' })
    .click();
  await page.waitForURL((url) => url.href !== original);
  await saw(page, 'You said one.');
  t.is(await messages(page).getByText('You said two.').count(), 0);
  await page.goBack();
  await saw(page, 'You said two.');
  await messages(page)
    .getByRole('article', { name: /^You/ })
    .nth(1)
    .getByRole('button', { name: 'Edit and fork' })
    .click();
  const dialog = page.getByRole('dialog', { name: 'Edit and fork' });
  await dialog.getByLabel('Message').fill('three');
  await dialog.getByLabel('Message').press('Control+Enter');
  await saw(page, 'You said three.');
  await saw(page, 'You said one.');
  t.is(await messages(page).getByText('You said two.').count(), 0);
});

browserTest('two questions at once are one form, which a reload keeps and of which one may stay open', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'ask');
  await page.getByRole('group', { name: 'What is your name?' }).waitFor();
  await page.reload();
  await page.getByRole('group', { name: 'How long, and when?' }).getByLabel('days').fill('0');
  await page.getByRole('group', { name: 'What is your name?' }).getByLabel('Leave this question open').check();
  await page.getByRole('button', { name: 'Send the answers' }).click();
  await page.getByRole('alert').filter({ hasText: 'must be at least 1' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  await page.getByLabel('days').fill('3');
  await page.getByLabel('season').selectOption('winter');
  await page.getByRole('button', { name: 'Send the answers' }).click();
  await page.getByRole('button', { name: 'Send the answer', exact: true }).waitFor();
  t.is(await page.getByRole('group', { name: 'How long, and when?' }).count(), 0);
  await page.getByLabel('Answer to askName').fill('Ada');
  await page.getByRole('button', { name: 'Send the answer', exact: true }).click();
  await saw(page, 'Hello Ada.');
  await saw(page, 'The trip: {"days":3,"season":"winter"}');
  await status(page, 'Completed');
});

browserTest(
  'tools that the reader switches on run in the browser: a clock, a place, an expression in a worker',
  async (t) => {
    const { page, context } = await openPage(t, chat());
    await context.grantPermissions(['geolocation']);
    await context.setGeolocation({ latitude: 38.7, longitude: -9.1 });
    await page.getByText('Options').click();
    for (const label of [/^Clock/, /^Location/, /^JavaScript/]) await page.getByLabel(label).check();
    await send(page, 'call browser_clock');
    await saw(page, 'The tool gave {"iso":');
    await send(page, 'call browser_location');
    await saw(page, 'The tool gave {"latitude":38.7');
    await send(page, 'call browser_javascript {"expression":"6 * 7"}');
    await saw(page, 'The tool gave 42.');
    await send(page, 'call browser_javascript {"expression":"(() => { for (;;); })()"}');
    await saw(page, 'The tool gave "the expression took more than 2000 ms and was ended"');
    await messages(page).locator('summary', { hasText: 'Failed tool' }).waitFor();
    await send(page, 'call browser_javascript {"expression":"fetch(\'/v1/ping\')"}');
    await saw(page, 'The tool gave "TypeError: ');
    t.pass();
  },
);

browserTest('a call of a tool that this browser lacks is answered by hand', async (t) => {
  await service.send('POST', '/v1/graph/invoke', {
    messages: [{ role: 'user', content: 'call look' }],
    config: { thread_id: 'by-hand' },
    tools: [{ name: 'look', description: 'Looks.' }],
  });
  const { page } = await openPage(t, chat('by-hand'));
  await page
    .getByRole('group', { name: 'The agent calls look' })
    .getByLabel('Result of look, as JSON')
    .fill('{"seen":"sea"}');
  await page.getByRole('button', { name: 'Send the result' }).click();
  await saw(page, 'The tool gave {"seen":"sea"}.');
  t.pass();
});

browserTest('a reload in the middle of a run follows it from its beginning', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await sendGate(page, gate.url);
  await page.reload();
  await saw(page, 'The first half,');
  await status(page, 'Running');
  gate.open();
  await saw(page, 'The first half, and the second.');
  t.is(await messages(page).getByRole('article').count(), 2);
});

browserTest('what was typed and not sent outlives a reload', async (t) => {
  const { page } = await openPage(t, chat());
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('not yet');
  await page.reload();
  t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), 'not yet');
});

browserTest('a message to a busy thread waits in sight, and its run follows the one before', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await sendGate(page, gate.url);
  await send(page, 'and then');
  await page.getByRole('list', { name: 'Messages that wait for their run' }).getByText('and then').waitFor();
  gate.open();
  await saw(page, 'You said and then.');
  await status(page, 'Completed');
  t.deepEqual(await messages(page).locator('.message-body').allInnerTexts(), [
    'gate',
    'The first half, and the second.',
    'and then',
    'You said and then.',
  ]);
});

browserTest('a run that undoes the one before takes its messages from the page', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, chat());
  await send(page, 'kept');
  await saw(page, 'You said kept.');
  await sendGate(page, gate.url);
  await openOptions(page);
  await page.getByLabel('When the thread is busy').selectOption('rollback');
  await send(page, 'instead');
  await saw(page, 'You said instead.');
  await status(page, 'Completed');
  t.deepEqual(await messages(page).locator('.message-body').allInnerTexts(), [
    'kept',
    'You said kept.',
    'instead',
    'You said instead.',
  ]);
});

browserTest('a file that is attached is stored, sent with the message and shown', async (t) => {
  const { page } = await openPage(t, chat());
  const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await page.getByLabel('Attach files').setInputFiles([
    { name: 'pixel.png', mimeType: 'image/png', buffer: Buffer.from(onePixel, 'base64') },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes.') },
  ]);
  await page.getByRole('list', { name: 'Attached files' }).getByText('notes.txt').waitFor();
  await send(page, 'look at these');
  await messages(page).getByRole('img', { name: 'pixel.png' }).waitFor();
  await messages(page).getByRole('link', { name: 'notes.txt' }).waitFor();
  await saw(page, 'You said look at these.');
  await page.reload();
  const image = messages(page).getByRole('img', { name: 'pixel.png' });
  await image.waitFor();
  t.is(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth), 1);
  t.is(await page.getByRole('list', { name: 'Attached files' }).count(), 0);
});

browserTest('a first message that was sent is no draft of the next chat', async (t) => {
  const { page } = await openPage(t, chat());
  await send(page, 'hello draft');
  await status(page, 'Completed');
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('heading', { name: 'New chat' }).waitFor();
  t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), '');
});

browserTest('a message of another tab and its answer stand in both tabs', async (t) => {
  const gate = await openGate();
  t.teardown(() => gate[Symbol.asyncDispose]());
  const { page, context } = await openPage(t, chat());
  await send(page, 'first');
  await saw(page, 'You said first.');
  await sendGate(page, gate.url);
  const other = await context.newPage();
  await other.goto(page.url());
  await saw(other, 'The first half,');
  await send(other, 'quick');
  // It is accepted before the first run ends: the other tab looks for what comes next then.
  await other.getByRole('list', { name: 'Messages that wait for their run' }).getByText('quick').waitFor();
  gate.open();
  await saw(other, 'You said quick.');
  await saw(page, 'and the second.');
  await saw(page, 'You said quick.');
  t.is(await messages(page).getByText('You said quick.').count(), 1);
});

browserTest('a question that another tab has answered is gone when its answer is refused here', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/400/] });
  await send(page, 'ask');
  const form = (tab: Page) => tab.getByRole('textbox', { name: 'Answer to askName' });
  await form(page).waitFor();
  await page.reload();
  await form(page).waitFor();
  const threadId = decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '');
  const { body } = await service.send('GET', `/v1/threads/${threadId}/runs`);
  const [asking] = (body.data as { readonly runs: readonly { readonly run_id: string }[] }).runs;
  const result = await service.send('GET', `/v1/runs/${asking?.run_id ?? ''}/wait`);
  const { interrupts } = (result.body.data as { readonly meta: { readonly interrupts: readonly { id: string }[] } })
    .meta;
  const resume = Object.fromEntries(interrupts.map(({ id }) => [id, { days: 3 }]));
  await service.send('POST', '/v1/graph/invoke', { messages: [], resume, config: { thread_id: threadId } });
  await form(page).fill('Ada');
  await page.getByLabel('days').fill('3');
  await page.getByRole('button', { name: /^Send the answer/ }).click();
  await saw(page, 'The trip:');
  await form(page).waitFor({ state: 'detached' });
  t.is(await form(page).count(), 0);
});

browserTest('the name of a thread is the heading of its chat and stands in the title of the page', async (t) => {
  const { page } = await openPage(t, chat());
  const title = await page.title();
  await page.getByText('Options').click();
  await page.getByLabel('Name of a new thread').fill('A trip to the sea');
  await send(page, 'hello');
  await page.getByRole('heading', { name: 'A trip to the sea', level: 1 }).waitFor();
  await saw(page, 'You said hello.');
  await page.reload();
  await page.getByRole('heading', { name: 'A trip to the sea', level: 1 }).waitFor();
  t.is(await page.title(), `A trip to the sea · ${title}`);
  await page.getByRole('link', { name: 'New chat' }).click();
  await page.getByRole('heading', { name: 'New chat', level: 1 }).waitFor();
  t.is(await page.title(), title);
});

browserTest('a thread that was deleted elsewhere is not made again: its draft goes on in a new chat', async (t) => {
  const { page } = await openPage(t, chat(), { expected: [/404/] });
  await send(page, 'hello');
  await saw(page, 'You said hello.');
  await status(page, 'Completed');
  const threadId = decodeURIComponent(/#\/chat\/([^?]+)/.exec(page.url())?.[1] ?? '');
  await service.send('DELETE', `/v1/threads/${threadId}`);
  await page
    .getByLabel('Attach files')
    .setInputFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes.') }]);
  await send(page, 'and this');
  await page.getByRole('alert').filter({ hasText: 'This thread is gone' }).waitFor();
  t.deepEqual(await violationsIn(page), []);
  t.is((await service.send('GET', `/v1/threads/${threadId}`)).status, 404);
  await page.getByRole('button', { name: 'Begin a new chat with it' }).click();
  await page.getByRole('heading', { name: 'New chat', level: 1 }).waitFor();
  t.is(await messages(page).getByRole('article').count(), 0);
  t.is(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), 'and this');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await saw(page, 'You said and this.');
  await messages(page).getByRole('link', { name: 'notes.txt' }).waitFor();
  t.false(page.url().includes(threadId));
  t.is((await service.send('GET', `/v1/threads/${threadId}`)).status, 404);
});
