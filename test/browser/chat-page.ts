import type { Locator, Page } from 'playwright-core';

// What tests find and do on the page of a chat.

/** The box in which the next message is written. */
export const box = (page: Page): Locator => page.getByRole('textbox', { name: 'Message', exact: true });

export const messages = (page: Page): Locator => page.getByRole('region', { name: 'Messages' });

export const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });

/** Waits until a message has this text. */
export const saw = (page: Page, text: string): Promise<void> => messages(page).getByText(text).first().waitFor();

/** Waits until a status has this text. */
export const status = (page: Page, text: string): Promise<void> =>
  page.getByRole('status').filter({ hasText: text }).waitFor();

/** Writes a message and sends it by the keyboard. */
export async function send(page: Page, text: string): Promise<void> {
  await box(page).fill(text);
  await box(page).press('Enter');
}

/** Shows the options of the next run, which fold when a run is accepted. */
export async function openOptions(page: Page): Promise<void> {
  const fold = page.locator('details.options');
  if ((await fold.getAttribute('open')) === null) await fold.getByText(/^Options/).click();
}

/** Has the next runs wait at the gate of this address. */
export async function setGate(page: Page, address: string): Promise<void> {
  await openOptions(page);
  const config = page.getByLabel('Further config, as a JSON object');
  await config.fill(JSON.stringify({ gate: address }));
  await config.press('Escape');
}

/** Sends a message whose run waits at the gate of this address. */
export async function sendGateWith(page: Page, address: string, text: string): Promise<void> {
  await setGate(page, address);
  await send(page, text);
}

/** Sends a message whose run has said its first half and waits at the gate of this address for the second. */
export async function sendGate(page: Page, address: string): Promise<void> {
  await sendGateWith(page, address, 'gate');
  await saw(page, 'The first half,');
}
