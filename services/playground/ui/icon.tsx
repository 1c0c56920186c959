/** The signs of the page, drawn in lines on a square of 16. */
const paths = {
  brand: 'M2 4h6M5 8h9M8 12h4',
  chat: 'M13 3H3a1 1 0 0 0-1 1v6.5a1 1 0 0 0 1 1h1.5V14l3-2.5H13a1 1 0 0 0 1-1V4a1 1 0 0 0-1-1z',
  inbox: 'M4 3h8l2 6v3a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V9zM2 9h3.5l1 2h3l1-2H14',
  runs: 'M1.5 8.5H4l2-6 3.5 11 2.5-5h2.5',
  threads:
    'M4 5v6M4 5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm0 9a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm8 0a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm0-3V8.5a2.5 2.5 0 0 0-2.5-2.5H4',
  memory:
    'M3 4c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2zm0 0v8c0 1.1 2.2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2.2 2 5 2s5-.9 5-2',
  files: 'M9 2H4a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h8a1 1 0 0 0 1-1V6zm0 0v4h4',
  agents:
    'M8 5.5a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5zM3.75 14a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5zm8.5 0a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5zM7.2 5.3l-2.6 5.3M8.8 5.3l2.6 5.3M5.5 12.25h5',
  schedules: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
  webhooks: 'M3 13.5a.5.5 0 1 0 0-1 .5.5 0 0 0 0 1zM3 8a5 5 0 0 1 5 5M3 3a10 10 0 0 1 10 10',
  docs: 'M8 4.5C6.5 3.3 4.5 3 2 3v9.5c2.5 0 4.5.3 6 1.5 1.5-1.2 3.5-1.5 6-1.5V3c-2.5 0-4.5.3-6 1.5zm0 0V14',
  more: 'M3 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zm4.5 0a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0zM12 8a.5.5 0 1 0 1 0 .5.5 0 1 0-1 0z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zm3.3-1.2 3.2 3.2',
  theme: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 2v12M10 3v10M12 4.5v7',
  keys: 'M2 4h12v8H2zM4.5 6.5h.01M8 6.5h.01M11.5 6.5h.01M5 9.5h6',
  back: 'M13 8H3m4.5-4.5L3 8l4.5 4.5',
  close: 'm4 4 8 8m0-8-8 8',
  copy: 'M6 6h7v7H6zM10 3.5V3H3v7h.5',
  plus: 'M8 3v10M3 8h10',
  retry: 'M13 8a5 5 0 1 1-1.5-3.5L13 6m0-3.5V6H9.5',
  fork: 'M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm0 8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm7-8a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zm0 0v.5a3 3 0 0 1-3 3h-4',
  edit: 'M8.5 13.5H13M10 3.5l2.5 2.5L6 12.5l-3 .5.5-3z',
  stop: 'M5 5h6v6H5z',
  up: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  down: 'M8 3v10m4.5-4.5L8 13 3.5 8.5',
  clip: 'M13 7.5 7.8 12.7a3 3 0 0 1-4.3-4.3l5.4-5.3a2 2 0 0 1 2.9 2.9L6.5 11.2a1 1 0 0 1-1.4-1.4l4.7-4.7',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  tool: 'M9.5 6.5a3 3 0 0 1 3.7-4L11.5 4.3l.4 1.8 1.8.4 1.7-1.7a3 3 0 0 1-4 3.7L6 13.5a1.4 1.4 0 0 1-2-2z',
  options:
    'M2 5h7m3 0h2M2 11h2m3 0h7M10.5 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM5.5 12.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  step: 'M3 5h10v6H3z',
  model: 'M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6z',
  fan: 'M2 8h4M6 8c2 0 2-4 4-4h4M6 8h8M6 8c2 0 2 4 4 4h4',
  graph: 'M2 3.5h12v9H2zM5 6.5h6v3H5z',
  takeover: 'M2 5.5h11l-2.5-2.5M14 10.5H3l2.5 2.5',
  link: 'M6.5 9.5l3-3M7 5l1.5-1.5a2.5 2.5 0 0 1 4 4L11 9M9 11l-1.5 1.5a2.5 2.5 0 0 1-4-4L5 7',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  compare: 'M2.5 3h4v10h-4zM9.5 3h4v10h-4z',
  warn: 'M8 2.5 14 13H2zM8 6.5v3M8 11.5h.01',
} as const;

export type IconName = keyof typeof paths;

/** A sign beside a word, or in place of one that the control around it has as its name. Screen readers pass it over. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
