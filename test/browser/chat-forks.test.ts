import test from 'ava';
import { openPage, violationsIn } from './browser.ts';
import { messages } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

/** Keeps so few versions that those of older messages are gone. */
const service = servePages(test, 'chatting', { CHECKPOINT_KEEP: '2' });

browserTest('a message whose version is no longer kept cannot be forked from, and says why', async (t) => {
  // The service drops versions once in sixteen, and a run makes two.
  for (let turn = 0; turn < 10; turn++)
    await service.send('POST', '/v1/graph/invoke', {
      messages: [{ role: 'user', content: `turn ${String(turn)}` }],
      config: { thread_id: 'trimmed' },
    });
  const { page } = await openPage(t, `${service.url()}/playground#/chat/trimmed`, { expected: [/404/] });
  const answer = (turn: number) =>
    messages(page)
      .getByRole('article')
      .filter({ hasText: `You said turn ${String(turn)}.` });
  await answer(9).waitFor();
  await messages(page).focus();
  await page.keyboard.press('Home');
  await answer(0).getByRole('button', { name: 'Fork from here' }).click();
  await answer(0).getByText('The service no longer keeps the version of the thread at this message').waitFor();
  t.true(await answer(0).getByRole('button', { name: 'Fork from here' }).isDisabled());
  t.deepEqual(await violationsIn(page), []);
  await page.keyboard.press('End');
  await answer(9).getByRole('button', { name: 'Fork from here' }).click();
  await page.waitForURL((url) => !url.hash.includes('trimmed'));
  await answer(9).waitFor();
});
