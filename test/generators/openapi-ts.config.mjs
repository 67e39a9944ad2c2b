export default {
  input: 'openapi.json',
  output: { path: 'hey-api', importFileExtension: '.js' },
  plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
};
