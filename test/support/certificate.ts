/** A certificate for localhost that signed itself, with its key: made for the tests, used nowhere else. */
export const certificatePem = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUYzSP+RMp28Z/hF2+dKSmCUfHtoowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE0MTkyMloYDzIxMjYxMDI4
MTQxOTIyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATtqtAyPHrn4vyMhorNrDGFzHsrVWZ48VGYR5h13aUYUzqSR/kIXigl
lW8RMOTGrH/FHBKjM8vxiSCLm09iopVHo28wbTAdBgNVHQ4EFgQUjaw90zzDrLMr
9Aet4I4UcSAkyMQwHwYDVR0jBBgwFoAUjaw90zzDrLMr9Aet4I4UcSAkyMQwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAME3ujbxyomJgdzmO+lQY8/cxAl+u0yllbONuVnGm14YAiEA
sg950CfG7n4V/i+GwHej1W33IlaVP+PHZAZ3Gf7SKG0=
-----END CERTIFICATE-----`;

export const privateKeyPem = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5QAIpvScJ7oQe61h
yJuNCtf8KXymCBpNik4dBAZODGWhRANCAATtqtAyPHrn4vyMhorNrDGFzHsrVWZ4
8VGYR5h13aUYUzqSR/kIXigllW8RMOTGrH/FHBKjM8vxiSCLm09iopVH
-----END PRIVATE KEY-----`;

/** Unix milliseconds. */
export const certificateEnd = Date.parse('2126-10-28T14:19:22Z');
