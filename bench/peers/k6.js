// k6's part: N requests shared by C virtual users, bodies discarded.
import http from 'k6/http';

export const options = {
  discardResponseBodies: true,
  scenarios: {
    fixed: {
      executor: 'shared-iterations',
      vus: Number(__ENV.CONNECTIONS),
      iterations: Number(__ENV.REQUESTS),
      maxDuration: '60s',
    },
  },
};

export default function () {
  http.get(__ENV.URL);
}
