import socket
import sys

right = 0
for _ in range(int(sys.argv[1])):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("web")
    connection.sendall(b"GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n")
    answer = b""
    while part := connection.recv(65536):
        answer += part
    right += answer.startswith(b"HTTP/1.1 200")
print(right, "requests answered")
