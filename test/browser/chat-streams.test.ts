import test from 'ava';
import type { Page } from 'playwright-core';
import { openGate } from '../servers/gate.ts';
import { until } from '../until.ts';
import { openPage, slack } from './browser.ts';
import { box, messages, saw, send, sendGate } from './chat-page.ts';
import { openMortal } from './mortal.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'chatting');

browserTest(
  'the service is killed in the middle of a run and started again: the run goes on, and nothing on the page is lost',
  async (t) => {
    await using mortal = await openMortal('chatting');
    await using gate = await openGate();
    const { page } = await openPage(t, `${mortal.url}/playground#/chat`, {
      expected: [/ERR_/, /Failed to load resource/],
    });
    await send(page, 'before the cut');
    await saw(page, 'You said before the cut.');
    await sendGate(page, gate.url);
    await box(page).fill('not sent yet');
    await gate.visited(1);
    await mortal.kill();
    await page.getByText('The connection to the run was cut. Connecting again').waitFor();
    await page.getByText('The connection is lost. Trying again').waitFor();
    gate.open();
    await mortal.start();
    await page.getByText('The connection was cut and has resumed where it was').waitFor({ timeout: 60_000 });
    await saw(page, 'The first half, and the second.');
    await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();
    t.is(await messages(page).getByRole('article').count(), 4);
    t.is(await box(page).inputValue(), 'not sent yet');
    const shown = await messages(page).locator('.message-body').allInnerTexts();
    await page.reload();
    await saw(page, 'The first half, and the second.');
    t.deepEqual(await messages(page).locator('.message-body').allInnerTexts(), shown);
  },
);

/** Notes how long the longest task of the page is, once the browser has shown that it counts them: those of more than 50 ms. */
async function watchTasks(page: Page): Promise<void> {
  await page.evaluate(() => {
    const found = globalThis as unknown as { longest: number };
    found.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) found.longest = Math.max(found.longest, duration);
    }).observe({ entryTypes: ['longtask'] });
    setTimeout(() => {
      for (const end = performance.now() + 70; performance.now() < end;);
    });
  });
  await page.waitForFunction(() => (globalThis as unknown as { longest: number }).longest >= 70);
  await page.evaluate(() => {
    (globalThis as unknown as { longest: number }).longest = 0;
  });
}
const longestTask = (page: Page): Promise<number> =>
  page.evaluate(() => (globalThis as unknown as { longest: number }).longest);

browserTest('2,000 chunks a second are drawn without a task of more than 50 ms', async (t) => {
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  await box(page).waitFor();
  await watchTasks(page);
  const chunks = 10_000;
  await send(page, `flood ${String(chunks)}`);
  await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor({ timeout: 60_000 });
  const last = `word${String(chunks - 2)}`;
  await saw(page, last);
  const longest = await longestTask(page);
  t.log(`the longest task took ${longest.toFixed(0)} ms`);
  t.true(longest <= 50 * slack(), `${String(longest)} ms`);
});

browserTest(
  'a reload in the middle of a fast run replays thousands of chunks without a task of more than 50 ms',
  async (t) => {
    const { page } = await openPage(t, `${service.url()}/playground#/chat`);
    await send(page, 'flood 16000');
    await saw(page, 'word9000');
    await page.addInitScript(() => {
      const found = globalThis as unknown as { longest: number };
      found.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) found.longest = Math.max(found.longest, duration);
      }).observe({ entryTypes: ['longtask'] });
    });
    await page.reload();
    await saw(page, 'word9000');
    const longest = await longestTask(page);
    t.log(`the longest task took ${longest.toFixed(0)} ms`);
    t.true(longest <= 50 * slack());
    await page.getByRole('status').filter({ hasText: 'Completed' }).waitFor();
    const text = (await messages(page).getByRole('article').last().locator('.message-body').innerText()).replaceAll(
      /\s+/g,
      ' ',
    );
    const expected = Array.from({ length: 16_000 }, (_, index) =>
      index % 40 === 39 ? 'end. ' : `word${String(index)} `,
    );
    t.is(text.trim(), expected.join('').trim());
  },
);

/** Adds messages to a thread, as a caller does. */
async function fill(threadId: string, count: number): Promise<void> {
  await service.thread(threadId);
  for (let from = 0; from < count; from += 1000) {
    const given = Array.from({ length: Math.min(1000, count - from) }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `Message ${String(from + index)}. **It** has a few words, and \`code\`.`,
    }));
    await service.send('POST', `/v1/threads/${threadId}/messages`, { messages: given });
  }
}

/** Milliseconds from each event of the keyboard to the frame that shows what it did, as the browser measures it: at most. */
async function slowestKey(page: Page, work: () => Promise<void>): Promise<number> {
  await page.evaluate(() => {
    const found = globalThis as unknown as { slowest: number; keys: number };
    Object.assign(found, { slowest: 0, keys: 0 });
    addEventListener('keydown', ({ timeStamp }) => {
      // The message of a channel comes after the frame that the next animation frame draws.
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
          found.keys++;
          found.slowest = Math.max(found.slowest, performance.now() - timeStamp);
        };
        port2.postMessage(0);
      });
    });
  });
  await work();
  const read = (): Promise<{ slowest: number; keys: number }> =>
    page.evaluate(() => {
      const { slowest, keys } = globalThis as unknown as { slowest: number; keys: number };
      return { slowest, keys };
    });
  await until(async () => (await read()).keys >= 10);
  return (await read()).slowest;
}

/** Counts from here on how often the page writes to its storage. */
async function countWrites(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const found = globalThis as unknown as { writes: number };
    found.writes = 0;
    const write = Reflect.get(Storage.prototype, 'setItem');
    Storage.prototype.setItem = function (...entry) {
      found.writes++;
      Reflect.apply(write, this, entry);
    };
  });
  return () => page.evaluate(() => (globalThis as unknown as { writes: number }).writes);
}

browserTest(
  'a thread of 10,000 messages opens at its end, is typed and scrolled in within 50 ms, and loads what is older',
  async (t) => {
    const count = 10_000;
    await fill('long', count);
    const { page } = await openPage(t, `${service.url()}/playground#/chat/long`);
    await saw(page, `Message ${String(count - 1)}.`);
    await watchTasks(page);
    const reads = await page.evaluate(() =>
      performance.getEntriesByType('resource').filter(({ name }) => name.includes('/threads/long/messages')),
    );
    t.true(reads.length <= 3, `the messages were read ${String(reads.length)} times`);
    while ((await page.getByRole('button', { name: /Load older messages|Loading/ }).count()) > 0) {
      const height = await messages(page).evaluate((element) => {
        element.scrollTop = 0;
        return element.scrollHeight;
      });
      await page.waitForFunction(
        (had) =>
          (document.querySelector('[aria-label="Messages"]')?.scrollHeight ?? 0) > had + 1000 ||
          !/Load older messages|Loading …/.test(document.body.innerText),
        height,
      );
    }
    const loading = await longestTask(page);
    t.log(`scrolling to the start, which loads 10,000 messages: the longest task took ${loading.toFixed(0)} ms`);
    t.true(loading <= 50 * slack());
    await watchTasks(page);
    const writes = await countWrites(page);
    const typing: number[] = [];
    for (let sentence = 0; sentence < 3; sentence++)
      typing.push(await slowestKey(page, () => box(page).pressSequentially('Typing while the thread is long.')));
    t.log(`typing: ${typing.map(Math.round).join(', ')} ms to the next frame at most, of three sentences`);
    // What else the machine does lengthens some, and what the page does all of them.
    t.true(Math.min(...typing) <= 50 * slack());
    t.true((await writes()) < 16, 'a draft is kept when the hand rests, not with each key');
    for (let part = 0; part <= 20; part++)
      await messages(page).evaluate((element, at) => {
        element.scrollTop = element.scrollHeight * at;
      }, part / 20);
    await saw(page, `Message ${String(count - 1)}.`);
    const scrolling = await longestTask(page);
    t.log(`typing and scrolling: the longest task took ${scrolling.toFixed(0)} ms`);
    t.true(scrolling <= 50 * slack());
  },
);

browserTest('what is in sight stays where it is when an older page comes', async (t) => {
  await fill('anchored', 400);
  const { page } = await openPage(t, `${service.url()}/playground#/chat/anchored`);
  await saw(page, 'Message 399.');
  // The list is asked before and after in one go of the page: nothing can come between the scroll and the first look.
  const seen = await messages(page).evaluate((element) => {
    element.scrollTop = 300;
    return new Promise<number>((resolve) => requestAnimationFrame(() => resolve(element.scrollHeight)));
  });
  await page.waitForFunction(
    (had) => (document.querySelector('[aria-label="Messages"]')?.scrollHeight ?? 0) > had + 1000,
    seen,
  );
  const at = await messages(page).evaluate((element) => ({ top: element.scrollTop, height: element.scrollHeight }));
  t.true(Math.abs(at.top - 300 - (at.height - seen)) < 200, JSON.stringify({ seen, ...at }));
});
