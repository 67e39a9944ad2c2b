import t from 'tap';
import { routes } from '../src/routes.js';

t.test('the routes, their credentials and scopes are the specification’s', async (t) => {
  t.strictSame(
    routes.map(({ method, path, credential, scope, envelope }) =>
      [method, path, credential, scope ?? '-', envelope].join(' '),
    ),
    [
      'POST /api/auth/login none - legacy',
      'POST /api/api-keys user-token - legacy',
      'GET /api/api-keys user-token - legacy',
      'DELETE /api/api-keys/:id user-token - legacy',
      'POST /api/v1/signals api-key signals:write v1',
      'GET /api/v1/signals api-key signals:read v1',
      'GET /api/v1/signals/:requestId api-key signals:read v1',
      'POST /api/v1/orders/:orderRef/cancel api-key orders:cancel v1',
      'POST /api/v1/orders/cancel-all api-key orders:cancel v1',
      'GET /api/v1/cancel-after api-key orders:cancel v1',
      'PUT /api/v1/cancel-after api-key orders:cancel v1',
      'GET /api/v1/terminal-events/sources api-key events:read v1',
      'GET /api/v1/terminal-events/snapshot api-key events:read v1',
      'GET /api/v1/terminal-events/stream api-key events:read v1',
      'GET /openapi.json none - legacy',
      'GET /openapi-3.0.json none - legacy',
    ],
  );
  t.equal(new Set(routes.map(({ operation }) => operation)).size, routes.length);
});
