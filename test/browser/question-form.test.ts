import { createClient, type Client } from '@agent-workflow/client';
import test, { type ExecutionContext } from 'ava';
import type { Locator, Page } from 'playwright-core';
import { openPage, violationsIn } from './browser.ts';
import { browserTest, servePages } from './suite.ts';

// The form in which questions are answered is the same wherever it stands.
const service = servePages(test, 'chatting');
const client = (): Client => createClient({ url: service.url() });

const form = (page: Page): Locator => page.getByRole('form', { name: 'Questions of the agent' });
const notices = (page: Page): Locator => page.getByRole('status', { name: 'Notices' });
const button = (page: Page, name: string): Locator => form(page).getByRole('button', { name, exact: true });

let asked = 0;

for (const view of ['chat', 'inbox'] as const) {
  /** Opens a thread in which the user has said this and the agent asks. */
  const open = async (t: ExecutionContext, text: string): Promise<{ readonly page: Page; readonly id: string }> => {
    const id = `${view}-${String(++asked)}`;
    await client().invoke({ messages: [{ role: 'user', content: text }], config: { thread_id: id } });
    const { page } = await openPage(t, `${service.url()}/playground#/${view}/${id}`);
    await form(page).waitFor();
    return { page, id };
  };
  const question = (value: unknown): string => `question ${JSON.stringify(value)}`;

  /** Waits until the agent has said this. */
  const waitsFor = async (t: ExecutionContext, id: string, text: string): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      const { messages } = await client().threads.messages(id);
      if (JSON.stringify(messages).includes(text)) {
        t.pass();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    t.fail(`the agent has not said ${text}`);
  };

  browserTest(`${view}: an empty answer is refused at its box, which has the keyboard`, async (t) => {
    const { page, id } = await open(t, question('Who are you?'));
    await page.getByLabel('Answer to question').fill('  ');
    await button(page, 'Send the answer').click();
    const alert = page.getByRole('alert').filter({ hasText: 'The answer is empty' });
    await alert.waitFor();
    t.deepEqual(await violationsIn(page), []);
    await page.keyboard.type('Ada');
    await alert.waitFor({ state: 'detached' });
    await button(page, 'Send the answer').click();
    await waitsFor(t, id, 'The answer: \\"  Ada\\"');
  });

  browserTest(`${view}: A goes to the question, and Ctrl+Enter approves`, async (t) => {
    const { page, id } = await open(t, question({ question: 'Refund €249?', options: ['approve', 'reject'] }));
    await page.locator('body').click({ position: { x: 1, y: 1 } });
    await page.keyboard.press('a');
    await page.keyboard.press('Control+Enter');
    await waitsFor(t, id, 'The answer: \\"approve\\"');
  });

  browserTest(`${view}: a rejection can be taken back for five seconds, and is sent after them`, async (t) => {
    const { page, id } = await open(t, question({ question: 'Refund €249?', options: ['approve', 'reject'] }));
    await button(page, 'Reject').click();
    await notices(page).getByRole('button', { name: 'Undo' }).click();
    await page.goto(`${service.url()}/playground#/${view}/${id}`);
    t.is((await client().threads.inbox()).items.filter(({ thread_id: each }) => each === id).length, 1);
    await button(page, 'Reject').click();
    await notices(page).getByRole('button', { name: 'Dismiss' }).click();
    await waitsFor(t, id, 'The answer: \\"reject\\"');
  });

  browserTest(`${view}: one question may stay open while another is answered`, async (t) => {
    const { page, id } = await open(t, 'ask');
    await page.getByRole('group', { name: 'How long, and when?' }).getByLabel('Leave this question open').check();
    await page.getByLabel('Answer to askName').fill('Ada');
    await button(page, 'Send the answers').click();
    // The run that the answer begins asks the other question again; the inbox is left, and its pane goes.
    await page.getByLabel('Answer to askName').waitFor({ state: 'detached' });
    await page.goto(`${service.url()}/playground#/${view}/${id}`);
    await page.getByRole('group', { name: 'How long, and when?' }).waitFor();
    await page.getByLabel('Answer to askName').waitFor({ state: 'detached' });
    t.is(await form(page).getByRole('group').count(), 1);
  });
}
