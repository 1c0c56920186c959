import { choice, type Settings } from '@agent-workflow/kit/env';

/** Settings of the pages for people. */
export const pageSettings = {
  DOCS: choice(['on', 'off'], 'on', 'Whether the guides and the reference of the API are served at `/docs`'),
  PLAYGROUND: choice(['on', 'off'], 'on', 'Whether the playground is served at `/playground`'),
} satisfies Settings;
