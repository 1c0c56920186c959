import { signal } from '@preact/signals';

/** The names of the tools of the browser that the reader has switched on. It ends with the page. */
export const toolsOn = signal<ReadonlySet<string>>(new Set());

/** Switches a tool on or off. */
export function switchTool(name: string, isOn: boolean): void {
  const names = new Set(toolsOn.value);
  if (isOn) names.add(name);
  else names.delete(name);
  toolsOn.value = names;
}
