/** The base URL is a part of what it generates. */
export default {
  signalbox: {
    input: 'openapi.json',
    output: {
      target: 'orval.gen.ts',
      client: 'fetch',
      baseUrl: process.env.SIGNALBOX_URL,
      headers: true,
    },
  },
};
